// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/doubled.h"

#include <fmt/format.h>

#include <functional>
#include <unordered_set>

namespace assay {

std::vector<std::string> FindDoubled(const RecordView& records) {
  std::vector<std::string> doubled;
  std::unordered_set<size_t> seen;  // hashes: there may be a million
  seen.reserve(records.size());
  std::string key;
  for (const Record& r : records) {
    key.clear();
    for (const std::string* part : {&r.case_id, &r.backend, &PlannedDevice(r), &r.implementation}) key += *part + '\n';
    if (seen.insert(std::hash<std::string>()(key)).second) continue;
    doubled.push_back(fmt::format("{} of {} {}", r.case_id, r.backend, r.implementation));
  }
  return doubled;
}

std::string DoubledText(const std::vector<std::string>& doubled) {
  return fmt::format(
      "results.jsonl: {} {} the result of another record, the first {}: files were joined or changed. All count; "
      "assay run --resume runs results again whose records differ",
      doubled.size(), doubled.size() == 1 ? "record repeats" : "records repeat", doubled[0]);
}

}  // namespace assay
