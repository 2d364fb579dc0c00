// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/missing.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "harness/core/base/json_text.h"
#include "harness/engine/results/record_case.h"

namespace assay {
namespace {

// Backend, device, implementation. Devices of one name share a place, so places are counted.
using Place = std::tuple<std::string, std::string, std::string>;
using PlaceCounts = std::map<Place, int64_t>;

// Records and offers of one case.
struct MissingCounts {
  PlaceCounts recorded;
  std::vector<const Offer*> offers;
  bool ran_nowhere = false;
};

// Numbers for texts that are few among many, so that what is known of a million cases is a few numbers each.
class Places {
 public:
  uint32_t NumberOf(const Record& r) {
    const auto [it, is_new] =
        numbers_.try_emplace({r.backend, PlannedDevice(r), r.implementation}, static_cast<uint32_t>(places_.size()));
    if (is_new) places_.push_back(&it->first);
    return it->second;
  }
  const Place& operator[](uint32_t number) const { return *places_[number]; }

 private:
  std::map<Place, uint32_t> numbers_;
  std::vector<const Place*> places_;
};

// The offers and records of each case, found by its place in the plan; those of no planned case are left out.
class RecordGroups {
 public:
  RecordGroups(const Plan& plan, const std::vector<Offer>& offers, const RecordView& records) : offers_(offers) {
    const CaseIndex cases = IndexOf(plan.entries);
    const auto add = [&cases](const std::string& id, uint32_t what, Pairs& pairs) {
      if (const auto at = cases.find(id); at != cases.end()) pairs.emplace_back(at->second, what);
    };
    for (size_t i = 0; i < offers.size(); ++i) add(offers[i].case_id, static_cast<uint32_t>(i), offered_);
    for (const Record& r : records) add(r.case_id, places_.NumberOf(r), recorded_);
    std::ranges::sort(offered_);
    std::ranges::sort(recorded_);
  }

  // Cases are asked for in the plan's order, each of them.
  MissingCounts Take(uint32_t index) {
    MissingCounts counts;
    for (; next_offer_ < offered_.size() && offered_[next_offer_].first == index; ++next_offer_) {
      counts.offers.push_back(&offers_[offered_[next_offer_].second]);
    }
    for (; next_record_ < recorded_.size() && recorded_[next_record_].first == index; ++next_record_) {
      const Place& place = places_[recorded_[next_record_].second];
      ++counts.recorded[place];
      counts.ran_nowhere = counts.ran_nowhere || std::get<0>(place) == kHarnessBackend;
    }
    return counts;
  }

 private:
  using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;  // case, and offer or place
  const std::vector<Offer>& offers_;
  Places places_;
  Pairs offered_, recorded_;
  size_t next_offer_ = 0, next_record_ = 0;
};

// How many records each place should have: a device that made no offer has one, which says why.
PlaceCounts Planned(const std::vector<PlanDevice>& devices, int shard, const MissingCounts& counts) {
  PlaceCounts planned;
  for (const PlanDevice& device : devices) {
    if (device.shard < 0 || device.shard == shard) ++planned[{device.backend, device.device, ""}];
  }
  for (const Offer* offer : counts.offers) {
    --planned[{offer->backend, offer->device, ""}];
    for (const std::string& name : offer->implementations) ++planned[{offer->backend, offer->device, name}];
  }
  return planned;
}

Record MakeMissingRecord(const Plan& plan, const PlanEntry& entry, const Place& place) {
  Record r;
  r.case_id = entry.id;
  if (const auto spec = ParseId(entry.id)) SetCase(r, *spec);
  std::tie(r.backend, r.device, r.implementation) = place;
  r.required_contract = entry.requirement;
  r.plan_hash = plan.hash;
  r.tags = fmt::format("{}", fmt::join(entry.tags, ","));
  r.source = entry.source;
  SetVerdict(r, Verdict::kMissing, ResultClass::kNone,
             "planned, but without a record: the run was interrupted, killed, stopped at its first failures, or has "
             "not ended yet");
  return r;
}

Result<Offer> OfferFromLine(const std::string& line) try {
  const Json json = ParseJson(line);
  return Offer{json.at("case_id"), json.at("backend"), json.at("device"),
               json.at("implementations").get<std::vector<std::string>>()};
} catch (const Json::exception&) {
  return Fail(ErrorCode::kIo,
              "the file was changed or damaged. Restore it from a copy to have missing results named per "
              "implementation instead of per case and device");
}

}  // namespace

std::string ToJsonLine(const Offer& offer) {
  const Json json = {{"case_id", offer.case_id},
                     {"backend", offer.backend},
                     {"device", offer.device},
                     {"implementations", offer.implementations}};
  return DumpJson(json);
}

// The n-th record of one implementation, case and device name is of the n-th device of that name.
std::vector<Offer> OffersIn(const RecordView& records) {
  std::map<std::pair<std::string, Place>, int64_t> seen;
  std::map<std::tuple<std::string, std::string, std::string, int64_t>, Offer> offers;
  for (const Record& r : records) {
    if (r.implementation.empty()) continue;
    const std::string& device = PlannedDevice(r);
    const int64_t ordinal = seen[{r.case_id, {r.backend, device, r.implementation}}]++;
    Offer& offer = offers[{r.case_id, r.backend, device, ordinal}];
    offer.case_id = r.case_id, offer.backend = r.backend, offer.device = device;
    offer.implementations.push_back(r.implementation);
  }
  std::vector<Offer> out;
  for (auto& [key, offer] : offers) out.push_back(std::move(offer));
  return out;
}

Result<std::vector<Offer>> ReadOffers(const std::filesystem::path& jsonl, const RecordView& records) {
  std::ifstream file(jsonl);
  if (!file) return OffersIn(records);
  std::vector<Offer> offers;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    auto offer = OfferFromLine(line);
    if (!offer && file.eof()) break;
    if (!offer) return Fail(ErrorCode::kIo, fmt::format("{}:{}: {}", jsonl.string(), number, offer.error().message));
    offers.push_back(std::move(*offer));
  }
  if (file.bad()) return Fail(ErrorCode::kIo, fmt::format("{}: cannot be read to its end", jsonl.string()));
  return offers;
}

RecordList MakeMissingRecords(const Plan& plan, const std::vector<Offer>& offers, const RecordView& records) {
  RecordList missing;
  RecordGroups by_case(plan, offers, records);
  for (uint32_t index = 0; index < plan.entries.size(); ++index) {
    const PlanEntry& entry = plan.entries[index];
    const MissingCounts counts = by_case.Take(index);
    if (counts.ran_nowhere || !InShard(entry, plan.shard)) continue;
    for (const auto& [place, planned] : Planned(plan.devices, entry.shard, counts)) {
      const auto recorded = counts.recorded.find(place);
      const int64_t have = recorded == counts.recorded.end() ? 0 : recorded->second;
      for (int64_t n = have; n < planned; ++n) missing.push_back(MakeMissingRecord(plan, entry, place));
    }
  }
  return missing;
}

}  // namespace assay
