// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/rank_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

namespace assay {
namespace {

using Values = std::vector<double>;

// By the definition: u counts pairs, and every way to deal the values is as likely as any other.
RankSumTest ByEnumeration(const Values& a, const Values& b) {
  Values all = a;
  all.insert(all.end(), b.begin(), b.end());
  const auto u_of = [&](uint32_t in_b) {
    double u = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      for (size_t j = 0; j < all.size(); ++j) {
        if ((in_b >> j & 1) == 0 || (in_b >> i & 1) != 0) continue;
        u += all[j] > all[i] ? 1 : all[j] == all[i] ? 0.5 : 0;
      }
    }
    return u;
  };
  RankSumTest test;
  test.u = u_of(((1u << b.size()) - 1) << a.size());
  double ways = 0, greater = 0, less = 0;
  for (uint32_t in_b = 0; in_b < 1u << all.size(); ++in_b) {
    if (std::popcount(in_b) != static_cast<int>(b.size())) continue;
    const double u = u_of(in_b);
    ++ways, greater += u >= test.u, less += u <= test.u;
  }
  test.p_greater = greater / ways, test.p_less = less / ways;
  return test;
}

TEST(RankSum, ByHand) {
  // Three against three, all of b above all of a: one way of 20.
  const RankSumTest apart = MannWhitney(Values{1, 2, 3}, Values{4, 5, 6});
  EXPECT_EQ(apart.u, 9);
  EXPECT_DOUBLE_EQ(apart.p_greater, 1.0 / 20);
  EXPECT_DOUBLE_EQ(apart.p_less, 1);
  // u = 8 or 9 of 9: 2 ways of 20.
  EXPECT_DOUBLE_EQ(MannWhitney(Values{1, 2, 4}, Values{3, 5, 6}).p_greater, 2.0 / 20);
  // All equal: nothing is told.
  EXPECT_DOUBLE_EQ(MannWhitney(Values{1, 1}, Values{1, 1}).p_greater, 1);
  EXPECT_DOUBLE_EQ(SmallestRankSumP(3, 3), 1.0 / 20);
  EXPECT_DOUBLE_EQ(SmallestRankSumP(10, 10), 1.0 / 184756);
}

TEST(RankSum, EqualsTheEnumerationOfAllWaysWithAndWithoutTies) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const auto kinds = std::uniform_int_distribution<int>(2, 30)(random);  // few kinds: many ties
    const auto draw = [&](size_t n) {
      Values v(n);
      for (double& x : v) x = std::uniform_int_distribution<int>(0, kinds)(random);
      return v;
    };
    const Values a = draw(2 + random() % 5), b = draw(2 + random() % 5);
    const RankSumTest got = MannWhitney(a, b), want = ByEnumeration(a, b);
    EXPECT_DOUBLE_EQ(got.u, want.u);
    EXPECT_NEAR(got.p_greater, want.p_greater, 1e-14);
    EXPECT_NEAR(got.p_less, want.p_less, 1e-14);
  }
}

TEST(RankSum, TheApproximationIsNearTheExactTestWhereBothApply) {
  std::mt19937_64 random(8);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 50; ++trial) {
    Values a(20), b(20);
    for (double& x : a) x = normal(random);
    for (double& x : b) x = normal(random) + 0.3;
    const double exact = MannWhitney(a, b).p_greater;
    a.push_back(-1e9), b.push_back(1e9);  // 42 values; the new pair changes the ranks a little
    EXPECT_NEAR(MannWhitney(a, b).p_greater, exact, 0.5 * exact + 0.01);
  }
  // u = 1800 of 3600 is the middle: z = -0.5 / sqrt(3600 * 121 / 12), half a pair for the continuity.
  Values even, odd;
  for (int i = 0; i < 60; ++i)
    even.push_back(i % 2 == 0 ? 2 * i : 2 * i + 1), odd.push_back(i % 2 == 0 ? 2 * i + 1 : 2 * i);
  const RankSumTest middle = MannWhitney(even, odd);
  EXPECT_EQ(middle.u, 1800);
  EXPECT_NEAR(middle.p_greater, 0.5 * std::erfc(-0.5 / std::sqrt(3600.0 * 121 / 12) / std::sqrt(2.0)), 1e-12);
}

TEST(RankSum, ShiftIsTheMedianDifferenceWithinItsInterval) {
  // Differences 3 2 1 4 3 2 5 4 3 sorted: 1 2 2 3 3 3 4 4 5. With P(u = 0) = 1 / 20 the 90 % interval is all of them.
  const ShiftEstimate shift = EstimateShift(Values{1, 2, 3}, Values{4, 5, 6}, 0.9);
  EXPECT_TRUE(shift.bounded);
  EXPECT_EQ(shift.shift, 3);
  EXPECT_EQ(shift.low, 1);
  EXPECT_EQ(shift.high, 5);
  EXPECT_FALSE(EstimateShift(Values{1, 2}, Values{4, 5}, 0.9).bounded);  // P(u = 0) = 1 / 6
}

TEST(RankSum, TheIntervalCoversTheShiftAsOftenAsItSays) {
  std::mt19937_64 random(9);
  std::lognormal_distribution<double> noise(0, 0.3);
  for (const size_t n : {size_t{6}, size_t{25}}) {
    int covered = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      Values a(n), b(n);
      for (double& x : a) x = noise(random);
      for (double& x : b) x = noise(random) + 0.2;
      const ShiftEstimate shift = EstimateShift(a, b, 0.9);
      covered += shift.low <= 0.2 && 0.2 <= shift.high;
    }
    EXPECT_GE(covered, 1760) << n;  // 90 % of 2000, less 3 standard deviations
    EXPECT_LE(covered, 1900) << n;
  }
}

TEST(BenjaminiHochbergTest, ByHand) {
  // Thresholds 0.01 0.02 0.03 0.04 0.05 at rate 0.05: the third is the last below its own.
  EXPECT_EQ(BenjaminiHochberg(Values{0.04, 0.03, 0.5, 0.011, 0.011}, 0.05),
            (std::vector<bool>{true, true, false, true, true}));
  EXPECT_EQ(BenjaminiHochberg(Values{0.02, 0.03, 0.04}, 0.01), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(BenjaminiHochberg(Values{0.004, 0.03, 0.04}, 0.01), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(BenjaminiHochberg(Values{0.003, 0.03, 0.04}, 0.01), (std::vector<bool>{true, false, false}));
  EXPECT_TRUE(BenjaminiHochberg({}, 0.01).empty());
}

}  // namespace
}  // namespace assay
