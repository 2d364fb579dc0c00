// SPDX-License-Identifier: Apache-2.0
#include "reports/strictness.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/core/base/amounts.h"
#include "reports/pooled.h"
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
