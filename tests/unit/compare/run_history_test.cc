// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/run_history.h"

#include <gtest/gtest.h>

#include "tests/unit/compare/compare_runs_fixture.h"

namespace assay::test {
namespace {

// Runs of one result each, with these margins.
std::vector<RunOfHistory> RunsWithMargins(const std::vector<double>& margins, bool deterministic = true) {
  std::vector<RunOfHistory> runs;
  for (const double margin : margins) {
    Record r = Passed("a");
    r.bound_margin = margin, r.deterministic = deterministic;
    runs.push_back({{"run" + std::to_string(runs.size()), {r}, true, ""}, {}, ""});
  }
  return runs;
}

std::vector<size_t> RunsWithChanges(const std::vector<RunOfHistory>& runs) {
  const CompareSettings settings{{}, "assay", kMinimumEffect, false};
  auto history = FindHistory(runs, settings);
  std::vector<size_t> changed;
  EXPECT_TRUE(history) << history.error().message;
  if (!history) return changed;
  for (const HistoryChange& c : history->changes) changed.push_back(c.run);
  return changed;
}

TEST(RunHistoryTest, AMarginChangesWhereItLeavesWhatItVariedBy) {
  using Runs = std::vector<size_t>;
  EXPECT_EQ(RunsWithChanges(RunsWithMargins({0.1, 0.1, 0.13, 0.13})), Runs{2});
  EXPECT_EQ(RunsWithChanges(RunsWithMargins({0.1, 0.105, 0.1})), Runs{});
  // It varied by half: 1.4 times the largest is within that, twice is not.
  EXPECT_EQ(RunsWithChanges(RunsWithMargins({0.1, 0.15, 0.21}, false)), Runs{});
  EXPECT_EQ(RunsWithChanges(RunsWithMargins({0.1, 0.15, 0.3}, false)), Runs{2});
  // One value of a result that changes by itself does not say by how much it varies.
  EXPECT_EQ(RunsWithChanges(RunsWithMargins({0.1, 0.3}, false)), Runs{});
  EXPECT_EQ(RunsWithChanges(RunsWithMargins({0.1, 0.3, 0.3, 0.1, 0.1, 0.3})), (Runs{1, 3, 5}));
  EXPECT_EQ(RunsWithChanges(RunsWithMargins({1e-9, 9e-4})), Runs{}) << "below the floor";
}

TEST(RunHistoryTest, OtherInputsBeginAnew) {
  auto runs = RunsWithMargins({0.1, 0.1, 0.5, 0.5});
  for (const size_t i : {2u, 3u}) runs[i].run.records[0].input_hash = "j";
  const CompareSettings settings{{}, "assay", kMinimumEffect, false};
  const auto history = FindHistory(runs, settings);
  ASSERT_TRUE(history);
  ASSERT_EQ(history->changes.size(), 1u);
  EXPECT_EQ(history->changes[0].change.field, "input_hash");
}

TEST(RunHistoryTest, ARunWithoutTheCaseLeavesNoGap) {
  auto runs = RunsWithMargins({0.1, 0.1, 0.1});
  runs[1].run.records[0].case_id = "matmul/f32/m=9/fill=normal/seed=0";
  runs[1].run.records.push_back(Passed("a", "matmul/f32/m=8/fill=normal/seed=0"));
  runs[2].run.records[0].output_hash = "p";
  const CompareSettings settings{{}, "assay", kMinimumEffect, false};
  const auto history = FindHistory(runs, settings);
  ASSERT_TRUE(history) << history.error().message;
  ASSERT_EQ(history->changes.size(), 1u);
  EXPECT_EQ(history->changes[0].change.aspect, Aspect::kBits);
  EXPECT_EQ(history->changes[0].run, 2u);
  EXPECT_EQ(history->changes[0].before, 0u);
}

TEST(RunHistoryTest, AnImplementationThatComesOrGoesIsToldAndAnotherCaseIsNot) {
  auto runs = RunsWithMargins({0.1, 0.1, 0.1});
  runs[1].run.records.push_back(Passed("b"));
  runs[1].run.records.push_back(Passed("a", "matmul/f32/m=8/fill=normal/seed=0"));
  const CompareSettings settings{{}, "assay", kMinimumEffect, false};
  const auto history = FindHistory(runs, settings);
  ASSERT_TRUE(history) << history.error().message;
  ASSERT_EQ(history->changes.size(), 2u);
  EXPECT_EQ(history->changes[0].change.aspect, Aspect::kNew);
  EXPECT_EQ(history->changes[0].implementation, "b");
  EXPECT_EQ(history->changes[1].change.aspect, Aspect::kSupport);
  EXPECT_EQ(history->changes[1].change.now, "not offered");
  EXPECT_TRUE(history->IsNewestWorse());
}

TEST(RunHistoryTest, RunsAreSortedByTheirStartIfEachHasOne) {
  auto runs = RunsWithMargins({0.1, 0.1});
  runs[0].started = "2026-02-01T00:00:00Z", runs[1].started = "2026-01-31T00:00:00Z";
  std::string note;
  SortByStart(runs, note);
  EXPECT_EQ(note, "");
  EXPECT_EQ(runs[0].run.name, "run1");
  runs[0].started = "";
  SortByStart(runs, note);
  EXPECT_EQ(runs[0].run.name, "run1");
  EXPECT_NE(note.find("run1 does not say when it began"), note.npos);
}

TEST(RunHistoryTest, EnvironmentsDifferInWhatResultsDependOn) {
  const auto before = ReadRunProperties(
      R"({"cpu": "A", "timestamp": "1", "load_average": "3", "cores": 2, "asked": ["--jobs", "2"],
          "variables": {"X": "1"}, "backends": [{"selector": "gpu", "driver": "1.0"}]})");
  const auto now = ReadRunProperties(
      R"({"cpu": "B", "timestamp": "2", "load_average": "4", "cores": 2, "asked": ["--jobs", "3"],
          "backends": [{"selector": "gpu", "driver": "1.1"}]})");
  EXPECT_EQ(ListDifferences(before, now),
            (std::vector<std::string>{"cpu: A -> B", "gpu driver: 1.0 -> 1.1", "options: --jobs 2 -> --jobs 3",
                                      "variable X: 1 -> not set"}));
  EXPECT_TRUE(ListDifferences(now, now).empty());
}

}  // namespace
}  // namespace assay::test
