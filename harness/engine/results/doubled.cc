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
      "results.jsonl: {} {} beside another one of the same result, the first of them {}: files were joined or changed. "
      "All are counted; assay run with --resume runs results again of which two records differ",
      doubled.size(), doubled.size() == 1 ? "record stands" : "records stand", doubled[0]);
}

}  // namespace assay
