// SPDX-License-Identifier: Apache-2.0
#include "reports/pooled.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/core/base/amounts.h"
#include "reports/summary.h"
#include "reports/text.h"

namespace assay {
namespace {

bool IsInconclusive(const Record& record) {
  return record.outcome == "inconclusive";
}

bool IsSuspect(const Record& record) {
  return record.result_class == "suspect";
}

bool HasInvalidTime(const Record& record) {
  return !record.timing_invalid.empty();
}

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
  return !IsFailure(record) && (IsInconclusive(record) || IsSuspect(record) || HasInvalidTime(record));
}

std::string StrictFailuresText(const RecordView& records) {
  const auto count = [&](bool (*is)(const Record&)) {
    return std::ranges::count_if(records, [&](const Record& r) { return is(r) && FailsStrictly(r); });
  };
  std::vector<std::string> parts;
  if (const auto n = count(IsInconclusive); n > 0) parts.push_back(Counted(n, "inconclusive result"));
  if (const auto n = count(IsSuspect); n > 0) parts.push_back(Counted(n, "suspect result"));
  if (const auto n = count(HasInvalidTime); n > 0) parts.push_back(Counted(n, "time") + " that cannot be true");
  const std::vector<PooledAnswer> pooled = FindPooled(records);
  if (const auto n = std::ranges::count(pooled, false, &PooledAnswer::proves); n > 0) {
    parts.push_back(Counted(n, "pooled finding"));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace assay
