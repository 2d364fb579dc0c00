// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/run_comparison.h"

#include <algorithm>

namespace assay {
namespace {

size_t CountResults(const std::vector<ResultComparison>& results, bool Change::*flag) {
  const auto flagged = [&](const ResultComparison& r) {
    return std::any_of(r.changes.begin(), r.changes.end(), [&](const Change& c) { return c.*flag; });
  };
  return static_cast<size_t>(std::count_if(results.begin(), results.end(), flagged));
}

}  // namespace

const char* Name(Aspect aspect) {
  constexpr const char* kNames[] = {"verdict", "lost",  "support",  "performance", "invalid time", "effective bits",
                                    "margin",  "class", "contract", "bits",        "new"};
  return kNames[static_cast<size_t>(aspect)];
}

const char* Name(Trend trend) {
  constexpr const char* kNames[] = {"worse", "better", "neutral"};
  return kNames[static_cast<size_t>(trend)];
}

const char* Name(TimeVerdict verdict) {
  constexpr const char* kNames[] = {"not timed", "SAME", "FASTER", "SLOWER", "UNSURE", "INVALID"};
  return kNames[static_cast<size_t>(verdict)];
}

size_t RunComparison::Regressions() const {
  return CountResults(results, &Change::regression);
}

size_t RunComparison::CountRegressedGroups() const {
  return static_cast<size_t>(std::ranges::count_if(groups, &GroupComparison::regression));
}

size_t RunComparison::TimesTested() const {
  return static_cast<size_t>(std::ranges::count_if(results, [](const auto& r) { return r.time.p_slower.has_value(); }));
}

size_t RunComparison::TimesInvalid() const {
  return static_cast<size_t>(
      std::ranges::count_if(results, [](const auto& r) { return r.time.verdict == TimeVerdict::kInvalid; }));
}

size_t RunComparison::Incomplete() const {
  return CountResults(results, &Change::incomplete);
}

}  // namespace assay
