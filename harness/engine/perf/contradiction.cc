// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/perf/contradiction.h"

#include <algorithm>
#include <string>
#include <vector>

namespace assay {
namespace {

std::vector<std::string> ReasonsOf(const Record& record) {
  std::vector<std::string> reasons;
  for (size_t begin = 0; begin < record.timing_invalid.size();) {
    const size_t end =
        std::min(record.timing_invalid.find(kBetweenContradictions, begin), record.timing_invalid.size());
    reasons.push_back(record.timing_invalid.substr(begin, end - begin));
    begin = end + kBetweenContradictions.size();
  }
  return reasons;
}

void SetReasons(Record& record, const std::vector<std::string>& reasons) {
  record.timing_invalid.clear();
  for (const std::string& reason : reasons) {
    if (!record.timing_invalid.empty()) record.timing_invalid += kBetweenContradictions;
    record.timing_invalid += reason;
  }
  SetRates(record);
}

}  // namespace

void AddContradiction(Record& record, std::string_view reason) {
  std::vector<std::string> reasons = ReasonsOf(record);
  if (std::ranges::find(reasons, reason) == reasons.end()) reasons.emplace_back(reason);
  SetReasons(record, reasons);
}

void WithdrawContradictions(Record& record, std::string_view begin) {
  if (record.timing_invalid.empty()) return;
  std::vector<std::string> reasons = ReasonsOf(record);
  std::erase_if(reasons, [&](const std::string& reason) { return reason.starts_with(begin); });
  SetReasons(record, reasons);
}

void SetRates(Record& record) {
  const double seconds = GetBelievedSeconds(record).value_or(0);
  const bool counts = seconds > 0 && record.timing_invalid.empty();
  const auto rate = [&](const Number& work) { return counts && work ? Number(*work / seconds * 1e-9) : std::nullopt; };
  record.gflops = rate(record.flops);
  record.gbytes_per_s = rate(record.bytes);
  if (record.timing_invalid.empty()) return;
  for (Number Record::*share : {&Record::roofline_fraction, &Record::memory_fraction, &Record::compute_fraction}) {
    (record.*share).reset();
  }
}

}  // namespace assay
