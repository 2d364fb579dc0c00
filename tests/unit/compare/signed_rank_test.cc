// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/signed_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace assay {
namespace {

// All patterns of signs, counted; the definition of the test.
SignedRankTest ByEnumeration(const std::vector<double>& d) {
  std::vector<double> score;
  for (const double x : d) {
    double below = 0, equal = 0;
    for (const double y : d) below += std::abs(y) < std::abs(x), equal += std::abs(y) == std::abs(x);
    const double middle = (static_cast<double>(d.size()) + 1) / 2;
    score.push_back(x == 0 ? 0 : std::min(below + (equal + 1) / 2, middle));
  }
  double observed = 0, greater = 0, less = 0;
  for (size_t i = 0; i < d.size(); ++i) observed += d[i] > 0 ? score[i] : 0;
  const size_t patterns = size_t{1} << d.size();
  for (size_t pattern = 0; pattern < patterns; ++pattern) {
    double sum = 0;
    for (size_t i = 0; i < d.size(); ++i) sum += (pattern >> i & 1) != 0 ? score[i] : 0;
    greater += sum >= observed, less += sum <= observed;
  }
  return {greater / static_cast<double>(patterns), less / static_cast<double>(patterns)};
}

TEST(SignedRanks, AreExactWithTiesAndZeros) {
  const std::vector<std::vector<double>> samples = {
      {1}, {-1}, {0}, {0, 0, 1}, {1, 2, 3, 4, 5, -6}, {3, -3, 3, 3, 1, -1, 0}, {-5, 1, 2, 8, -9, 4, 3, 7, 6, 10}};
  for (const auto& d : samples) {
    const SignedRankTest test = SignedRanks(d), expected = ByEnumeration(d);
    EXPECT_NEAR(test.p_greater, expected.p_greater, 1e-12) << d.size();
    EXPECT_NEAR(test.p_less, expected.p_less, 1e-12) << d.size();
  }
  EXPECT_EQ(SignedRanks(std::vector<double>(10, 0.1)).p_greater, SmallestSignedRankP(10));
  EXPECT_EQ(SignedRanks(std::vector<double>(10, 0.1)).p_less, 1);
}

TEST(SignedRanks, TheLargestDifferencesWeighNoMoreThanTheMiddle) {
  const std::vector<double> d{1, 2, 3, 4, 5, 6, 7, 8, -100, -200}, near{1, 2, 3, 4, 5, 6, 7, 8, -9, -10};
  EXPECT_EQ(SignedRanks(d).p_greater, SignedRanks(near).p_greater);
  // 11 of 42.5 speak against it; of full ranks 19 of 55 would
  EXPECT_NEAR(SignedRanks(d).p_greater, ByEnumeration(d).p_greater, 1e-12);
  EXPECT_LT(SignedRanks(d).p_greater, 0.09);
}

TEST(SignedRanks, TheApproximationContinuesTheExactTest) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0.25, 1);
  std::vector<double> d;
  for (int i = 0; i < 60; ++i) d.push_back(normal(random));
  const double exact = SignedRanks(d).p_greater;
  d.push_back(1e-9);  // decides nothing
  EXPECT_NEAR(SignedRanks(d).p_greater / exact, 1, 0.1);
  EXPECT_EQ(SignedRanks(std::vector<double>(61, 0.0)).p_greater, 1);
}

TEST(EstimateCentre, IsTheMiddleAndCoversAsOftenAsItSays) {
  const ShiftEstimate flat = EstimateCentre(std::vector<double>{3, 3, 3, 3, 3}, 0.9);
  EXPECT_NEAR(flat.shift, 3, 1e-9);
  EXPECT_TRUE(flat.bounded);
  EXPECT_FALSE(EstimateCentre(std::vector<double>{1, 2, 3, 4}, 0.9).bounded);  // 2 / 16 is more than a tenth
  EXPECT_NEAR(EstimateCentre(std::vector<double>{1, 2, 3, 4, 1000}, 0.9).shift, 3, 1);
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal(7, 2);
  for (const size_t n : {6, 15, 70}) {
    int covered = 0;
    for (int run = 0; run < 1000; ++run) {
      std::vector<double> d;
      for (size_t i = 0; i < n; ++i) d.push_back(normal(random));
      const ShiftEstimate estimate = EstimateCentre(d, 0.9);
      ASSERT_LE(estimate.low, estimate.shift);
      ASSERT_LE(estimate.shift, estimate.high);
      covered += estimate.low <= 7 && 7 <= estimate.high;
    }
    EXPECT_GE(covered, 880) << n;
    EXPECT_LE(covered, 980) << n;
  }
}

TEST(Holm, RejectsStepByStep) {
  EXPECT_EQ(Holm(std::vector<double>{0.004, 0.0049, 0.001}, 0.01), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(Holm(std::vector<double>{0.006, 0.006, 0.001}, 0.01), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(Holm(std::vector<double>{0.004, 0.001}, 0.001), (std::vector<bool>{false, false}));
  EXPECT_TRUE(Holm({}, 0.01).empty());
}

}  // namespace
}  // namespace assay
