// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "harness/judge/pooled/gather.h"

namespace assay {
namespace {

constexpr double kSpacing = 0x1p-7;

PooledValue Value(double golden, double off, double place = kSpacing / 4) {
  return {.counts = true,
          .off = off,
          .golden = golden,
          .sigma = 1e-6,
          .systematic = 1e-6,
          .spacing = kSpacing,
          .place = place};
}

TEST(Roundings, CountsTheResultsThatAreNotTheNearest) {
  const std::vector<PooledValue> values = {Value(1, 0), Value(1.1, kSpacing), Value(1.2, -kSpacing), Value(1.3, 0)};
  const PooledTest sums = RoundingsOf(values, 1, 0);
  EXPECT_EQ(sums.agreement, 2);
  EXPECT_EQ(sums.information, 4);
  EXPECT_DOUBLE_EQ(sums.granted, 4 * 2e-6 / kSpacing);
}

TEST(Roundings, EqualResultsAreOne) {
  const std::vector<PooledValue> values(1000, Value(1.1, kSpacing));
  EXPECT_EQ(RoundingsOf(values, 1, 0).agreement, 1);
  EXPECT_EQ(RoundingsOf(values, 1000, 0).information, 1);
}

// Sums of few narrow numbers are ties, which the least error rounds to the other side.
TEST(Roundings, TiesAndErrorsOfTheSizeOfASpacingTellNothing) {
  PooledValue coarse = Value(1.3, kSpacing);
  coarse.sigma = kSpacing / 4;
  const std::vector<PooledValue> values = {Value(1.1, kSpacing, 0), Value(1.2, kSpacing, 1e-9), coarse, {}};
  EXPECT_EQ(RoundingsOf(values, 1, 0).information, 0);
}

// Errors of a block are those of one number: their deviations add.
TEST(Roundings, ABlockErrsTogether) {
  std::vector<PooledValue> values;
  for (int i = 0; i < 1000; ++i) values.push_back(Value(1 + i * 1e-4, 0));
  const PooledTest apart = RoundingsOf(values, 1, 0), together = RoundingsOf(values, 1000, 0);
  const double each = 1e-6 / kSpacing;
  EXPECT_NEAR(together.variance - apart.variance, 1000 * 1000 * each * each, 1e-2);
  EXPECT_GT(together.step, apart.step);
}

}  // namespace
}  // namespace assay
