// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/match_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace assay {
namespace {

using DeviceNames = std::map<std::string, std::set<std::string>>;  // by backend

DeviceNames DevicesOf(const std::vector<Record>& records) {
  DeviceNames devices;
  for (const Record& r : records) devices[r.backend].insert(PlannedDevice(r));
  return devices;
}

class RecordMatcher {
 public:
  RecordMatcher(const std::vector<Record>& base, const std::vector<Record>& now, std::vector<std::string>& renamed)
      : base_(base), now_(now) {
    const DeviceNames after = DevicesOf(now);
    for (const auto& [backend, names] : DevicesOf(base)) {
      const auto it = after.find(backend);
      if (it == after.end() || names.size() != 1 || it->second.size() != 1 || names == it->second) continue;
      // Without a device there is no name to compare.
      if (names.begin()->empty() || it->second.begin()->empty()) {
        silent_[backend] = *it->second.begin();
        continue;
      }
      renamed_[backend] = *it->second.begin();
      renamed.push_back(fmt::format("{}: '{}' -> '{}'", backend, *names.begin(), *it->second.begin()));
    }
  }

  std::vector<MatchedPlace> Run() {
    for (const Record& r : base_) Insert(PlaceOf(r, BaseDevice(r)).base, r);
    for (const Record& r : now_) Insert(PlaceOf(r, PlannedDevice(r)).now, r);
    return std::move(places_);
  }

 private:
  std::string BaseDevice(const Record& r) const {
    for (const auto* names : {&renamed_, &silent_}) {
      if (const auto it = names->find(r.backend); it != names->end()) return it->second;
    }
    return PlannedDevice(r);
  }

  MatchedPlace& PlaceOf(const Record& r, const std::string& device) {
    const auto [it, inserted] = index_.try_emplace({r.case_id, r.backend, device}, places_.size());
    if (inserted) places_.push_back({r.case_id, r.backend, device, renamed_.contains(r.backend), {}, {}});
    return places_[it->second];
  }

  static void Insert(PlaceRecords& place, const Record& r) {
    if (r.implementation.empty()) {
      place.others.push_back(&r);
    } else {
      place.by_implementation[r.implementation].push_back(&r);
    }
  }

  const std::vector<Record>& base_;
  const std::vector<Record>& now_;
  std::map<std::string, std::string> renamed_, silent_;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> index_;
  std::vector<MatchedPlace> places_;
};

}  // namespace

std::vector<MatchedPlace> MatchRecords(const std::vector<Record>& base, const std::vector<Record>& now,
                                       std::vector<std::string>& renamed) {
  return RecordMatcher(base, now, renamed).Run();
}

std::vector<RecordPair> PairRecords(const std::vector<const Record*>& base, const std::vector<const Record*>& now) {
  std::vector<RecordPair> pairs;
  for (const Record* r : base) pairs.push_back({r, nullptr});
  std::vector<const Record*> left;
  for (const Record* r : now) {
    const auto fits = [&](const RecordPair& pair) {
      return pair.now == nullptr && pair.base->input_hash == r->input_hash;
    };
    if (const auto pair = std::ranges::find_if(pairs, fits); pair != pairs.end()) {
      pair->now = r;
    } else {
      left.push_back(r);
    }
  }
  std::vector<RecordPair> more;
  for (const Record* r : left) {
    if (const auto pair = std::ranges::find(pairs, nullptr, &RecordPair::now); pair != pairs.end()) {
      pair->now = r;
      continue;
    }
    const auto fits = [&](const Record* b) { return r->input_hash.empty() || b->input_hash == r->input_hash; };
    const auto known = std::ranges::find_if(base, fits);
    more.push_back({known == base.end() ? nullptr : *known, r});
  }
  pairs.insert(pairs.end(), more.begin(), more.end());
  return pairs;
}

}  // namespace assay
