// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/statistics.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Statistics, QuantilesInterpolateLikeType7) {
  // numpy.quantile([1, 2, 3, 4], [0, .1, .5, .9, 1]) = 1, 1.3, 2.5, 3.7, 4
  const std::vector<double> v{4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(Quantile(v, 0), 1);
  EXPECT_DOUBLE_EQ(Quantile(v, 0.1), 1.3);
  EXPECT_DOUBLE_EQ(Quantile(v, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile(v, 0.9), 3.7);
  EXPECT_DOUBLE_EQ(Quantile(v, 1), 4);
}

TEST(Statistics, SummaryOfOneSampleIsThatSample) {
  const std::vector<double> one{0.25};
  const TimingSummary s = Summarise(one);
  EXPECT_EQ(s.samples, 1);
  EXPECT_EQ(s.median_s, 0.25);
  EXPECT_EQ(s.p10_s, 0.25);
  EXPECT_EQ(s.p90_s, 0.25);
}

TEST(Statistics, OneSlowOutlierDoesNotMoveTheMedian) {
  const std::vector<double> v{1, 1, 1, 1, 1, 1, 1, 1, 1000};
  EXPECT_EQ(Summarise(v).median_s, 1);
}

}  // namespace
}  // namespace assay
