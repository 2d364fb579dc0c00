// SPDX-License-Identifier: Apache-2.0
#include "reports/pooled.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/core/base/amounts.h"
#include "reports/summary.h"

namespace assay {
namespace {

// Counts of the reasons by which results fail a strict run.
struct StrictFailures {
  int64_t inconclusive = 0, suspect = 0, invalid_times = 0;

  void Add(const Record& record) {
    if (IsFailure(record)) return;
    inconclusive += record.outcome == "inconclusive";
    suspect += record.result_class == "suspect";
    invalid_times += !record.timing_invalid.empty();
  }
  bool Any() const { return inconclusive + suspect + invalid_times > 0; }
};

}  // namespace

std::vector<std::string> PooledLines(const RecordView& records) {
  std::vector<std::string> lines;
  for (const PooledAnswer& found : FindPooled(records)) {
    const std::string device = found.device.empty() ? "" : "[" + found.device + "]";
    lines.push_back(fmt::format("Pooled: {}{}:{} {} {}: {}; it fails the run{}", found.backend, device,
                                found.implementation, found.op, found.dtype, found.Text(),
                                found.proves ? "." : " with --strict."));
  }
  return lines;
}

std::string PooledCountText(const std::vector<PooledAnswer>& found) {
  const auto proven = std::ranges::count_if(found, &PooledAnswer::proves);
  const auto advised = static_cast<int64_t>(found.size()) - proven;
  std::string text;
  if (proven > 0) text = fmt::format("{} fail{} the run", Counted(proven, "pooled finding"), proven == 1 ? "s" : "");
  if (advised > 0) {
    text += fmt::format("{}{} with --strict", text.empty() ? "" : ", ",
                        text.empty() ? Counted(advised, "pooled finding") : std::to_string(advised));
  }
  return text;
}

bool PooledFails(const std::vector<PooledAnswer>& found, bool strict) {
  return std::ranges::any_of(found, [strict](const PooledAnswer& answer) { return strict || answer.proves; });
}

bool IsStrict(const EnvironmentRows& environment) {
  return EnvironmentValue(environment, "strict") == "true";
}

bool FailsStrictly(const Record& record) {
  StrictFailures failures;
  failures.Add(record);
  return failures.Any();
}

std::string StrictFailuresText(const RecordView& records) {
  StrictFailures failures;
  for (const Record& r : records) failures.Add(r);
  std::vector<std::string> parts;
  if (failures.inconclusive > 0) parts.push_back(Counted(failures.inconclusive, "inconclusive result"));
  if (failures.suspect > 0) parts.push_back(Counted(failures.suspect, "suspect result"));
  if (failures.invalid_times > 0) parts.push_back(Counted(failures.invalid_times, "time") + " that cannot be true");
  const std::vector<PooledAnswer> pooled = FindPooled(records);
  if (const auto n = std::ranges::count(pooled, false, &PooledAnswer::proves); n > 0) {
    parts.push_back(Counted(n, "pooled finding"));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace assay
