// SPDX-License-Identifier: Apache-2.0
// Two runs of few records, compared.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "reports/compare/compare_runs.h"
#include "reports/compare/compare_times.h"

namespace assay::test {

inline Record Passed(const std::string& implementation,
                     const std::string& case_id = "matmul/f32/m=1/fill=normal/seed=0") {
  Record r;
  r.case_id = case_id, r.op = "matmul", r.dtype = "f32";
  r.backend = "gpu", r.device = "D", r.implementation = implementation;
  r.verdict = r.outcome = "pass", r.result_class = "within_class";
  r.bound_margin = 0.1, r.stat_margin = 0.4, r.effective_bits = 23.0;
  r.input_hash = "i", r.output_hash = "o", r.deterministic = true;
  return r;
}

class CompareRunsTest : public testing::Test {
 protected:
  // All changes, of every result.
  std::vector<Change> Compare(std::vector<Record> base, std::vector<Record> now) {
    auto result = CompareRuns({"base", std::move(base), true, ""}, {"new", std::move(now), true, ""}, settings_);
    if (!result) {
      ADD_FAILURE() << result.error().message;
      return {};
    }
    comparison_ = *result;
    std::vector<Change> changes;
    for (const auto& r : comparison_.results) changes.insert(changes.end(), r.changes.begin(), r.changes.end());
    return changes;
  }
  Change Only(std::vector<Record> base, std::vector<Record> now) {
    const auto changes = Compare(std::move(base), std::move(now));
    EXPECT_EQ(changes.size(), 1u);
    return changes.empty() ? Change{} : changes[0];
  }
  Change OnlyWith(Record now) { return Only({Passed("a")}, {std::move(now)}); }

  CompareSettings settings_{{}, "assay", kMinimumEffect, false};
  RunComparison comparison_;
};

}  // namespace assay::test
