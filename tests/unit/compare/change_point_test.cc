// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/change_point.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "reports/compare/compare_times.h"

namespace assay::test {
namespace {

using Histories = std::vector<std::vector<double>>;

// Medians of runs that scatter by 3 %, times what `scale` says of a series and a run.
template <class Scale>
Histories Simulate(std::mt19937& random, size_t series, size_t runs, Scale scale) {
  std::lognormal_distribution<double> noise(0, 0.03);
  Histories all(series);
  for (size_t s = 0; s < series; ++s) {
    for (size_t r = 0; r < runs; ++r) all[s].push_back(1e-3 * noise(random) * scale(s, r));
  }
  return all;
}

TEST(ChangePointTest, AStepIsFoundAtItsRun) {
  std::mt19937 random(1);
  const Histories all = Simulate(random, 40, 30, [](size_t s, size_t r) { return s == 7 && r >= 19 ? 1.25 : 1.0; });
  const auto found = FindChangePoints(all, kMinimumEffect);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].series, 7u);
  EXPECT_EQ(found[0].first, 19u);
  EXPECT_EQ(found[0].time.verdict, TimeVerdict::kSlower);
  EXPECT_NEAR(found[0].time.ratio, 1.25, 0.04);
}

TEST(ChangePointTest, TwoStepsOfOneSeriesAreFound) {
  std::mt19937 random(2);
  const Histories all = Simulate(random, 1, 60, [](size_t, size_t r) { return r < 20 ? 0.5 : r < 40 ? 1.5 : 1.2; });
  auto found = FindChangePoints(all, kMinimumEffect);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].first, 20u);
  EXPECT_EQ(found[1].first, 40u);
  EXPECT_EQ(found[0].time.verdict, TimeVerdict::kSlower);
  EXPECT_EQ(found[1].time.verdict, TimeVerdict::kFaster);
}

// A step of 2 % is real and found by the test, but less than --min-effect.
TEST(ChangePointTest, AStepBelowTheMinimumEffectIsNone) {
  std::mt19937 random(3);
  const Histories all = Simulate(random, 1, 200, [](size_t, size_t r) { return r < 100 ? 1.0 : 1.02; });
  EXPECT_TRUE(FindChangePoints(all, kMinimumEffect).empty());
  EXPECT_FALSE(FindChangePoints(all, 0.005).empty());
}

TEST(ChangePointTest, HistoriesWithoutAChangeHardlyEverShowOne) {
  std::mt19937 random(4);
  size_t alarms = 0;
  constexpr size_t kHistories = 300;
  for (size_t i = 0; i < kHistories; ++i) {
    alarms += FindChangePoints(Simulate(random, 20, 16, [](size_t, size_t) { return 1.0; }), 0.001).empty() ? 0 : 1;
  }
  // Both directions have 1 %; 15 of 300 or more by chance where that holds: less than one in a thousand.
  EXPECT_LT(alarms, 15u);
}

TEST(ChangePointTest, SoManyRunsAreNeededAndSuffice) {
  for (const size_t series : {1u, 10u, 1000u}) {
    const size_t needed = CountRunsNeeded(series);
    const auto steps = [&](size_t runs) {
      Histories all(series, std::vector<double>(runs, 1.0));
      for (size_t r = 0; r < runs; ++r) {
        for (auto& one : all) one[r] = 1 + 1e-6 * static_cast<double>(r * 7 % runs);
        all[0][r] = (1 + 1e-4 * static_cast<double>(r)) * (r < runs / 2 ? 1 : 2);
      }
      return FindChangePoints(all, kMinimumEffect).size();
    };
    EXPECT_EQ(steps(needed), 1u) << series;
    EXPECT_EQ(steps(needed - 1), 0u) << series;
  }
}

}  // namespace
}  // namespace assay::test
