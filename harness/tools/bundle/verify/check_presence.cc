// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "harness/core/base/amounts.h"
#include "harness/tools/bundle/verify/bundle_contents.h"

namespace assay {
namespace {

using Column = std::tuple<std::string, std::string, std::string>;  // case, backend and device as the plan has it

// Counts what there is of one case on the devices of one name.
struct Cell {
  int64_t devices = 0, offers = 0, without_implementation = 0;
  std::map<std::string, int64_t> offered, recorded;  // by implementation
};

class Presence {
 public:
  Presence(const BundleContents& bundle, Verification& found) : bundle_(bundle), found_(found) {}

  void Check() {
    AddDevices();
    AddOffers();
    AddRecords();
    for (const auto& [column, cell] : cells_) CheckCell(column, cell);
    const auto missing = std::ranges::find(bundle_.run.records, "missing", &Record::verdict);
    if (missing != bundle_.run.records.end()) {
      const auto all = std::ranges::count(bundle_.run.records, "missing", &Record::verdict);
      const Record first = *missing;
      found_.Contradict(
          "results.jsonl: {} without a record, such as {} of {} {}: only a run that has ended makes a bundle",
          Counted(all, "planned result"), first.case_id, first.backend, first.implementation);
    }
    if (!found_.contradicted.empty()) return;
    found_.Confirm("presence: each of {}{} has a record of every implementation that was offered, {} in all",
                   Counted(bundle_.CountOwnCases(), "planned case"), bundle_.IsShard() ? " of this shard" : "",
                   bundle_.run.records.size());
    if (nothing_ > 0) found_.Open("that nothing was offered where it says so: {}", Counted(nothing_, "record"));
  }

 private:
  void AddDevices() {
    for (const PlanEntry& entry : bundle_.plan.entries) {
      if (!InShard(entry, bundle_.plan.shard)) continue;
      for (const PlanDevice& device : bundle_.plan.devices) {
        if (device.shard >= 0 && device.shard != entry.shard) continue;
        ++cells_[{entry.id, device.backend, device.device}].devices;
      }
    }
  }

  void AddOffers() {
    bool selects = false;
    for (const Json& word : ListIn(bundle_.environment, "asked")) selects = selects || word == "--impl";
    for (const Offer& offer : bundle_.offers) {
      const auto cell = cells_.find({offer.case_id, offer.backend, offer.device});
      if (cell == cells_.end()) {
        found_.Contradict("{}: {} of {} is not planned", kOffersFile, offer.case_id, offer.backend);
        continue;
      }
      ++cell->second.offers;
      for (const std::string& name : offer.implementations) ++cell->second.offered[name];
      if (offer.implementations.empty() && !selects) {
        found_.Contradict("{}: {} of {}: an offer of nothing", kOffersFile, offer.case_id, offer.backend);
      }
    }
  }

  void AddRecords() {
    for (const Record& r : bundle_.run.records) {
      const auto cell = cells_.find({r.case_id, r.backend, PlannedDevice(r)});
      if (r.verdict == "missing") continue;
      if (r.backend == kHarnessBackend && r.implementation.empty()) {
        broken_off_.insert(r.case_id);
      } else if (cell == cells_.end()) {
        found_.Contradict("results.jsonl: {} of {} {} is not planned", r.case_id, r.backend, PlannedDevice(r));
      } else if (r.implementation.empty()) {
        ++cell->second.without_implementation;
        nothing_ += r.verdict == "unsupported" || r.verdict == "unavailable";
      } else {
        ++cell->second.recorded[r.implementation];
      }
    }
  }

  void CheckCell(const Column& column, const Cell& cell) {
    const auto& [id, backend, device] = column;
    if (cell.offers + cell.without_implementation > cell.devices) {
      found_.Contradict("results.jsonl: {} of {}: a record says that nothing was offered, and {} has an offer", id,
                        backend, kOffersFile);
    }
    if (broken_off_.contains(id) && cell.offers + cell.without_implementation > 0) {
      found_.Contradict(
          "results.jsonl: {}: assay broke it off, and {} has an offer or a record of it: run the case again", id,
          backend);
    }
    for (const auto& [name, count] : cell.recorded) {
      const auto offered = cell.offered.find(name);
      if (offered == cell.offered.end() || offered->second < count) {
        found_.Contradict("results.jsonl: {} of {} {} was not offered", id, backend, name);
      }
    }
  }

  const BundleContents& bundle_;
  Verification& found_;
  std::map<Column, Cell> cells_;
  std::set<std::string> broken_off_;  // cases that have a record of assay itself
  size_t nothing_ = 0;
};

}  // namespace

void CheckPresence(const BundleContents& bundle, Verification& found) {
  for (const std::string& result : bundle.run.doubled) {
    found.Contradict("results.jsonl: a second record of {}", result);
  }
  Presence(bundle, found).Check();
}

}  // namespace assay
