// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/perf/stopping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace assay {
namespace {

TEST(Stopping, FewRepetitionsSettleNothing) {
  EXPECT_FALSE(MedianIsSettled({}, 0.02));
  EXPECT_FALSE(MedianIsSettled(std::vector<double>(10, 1.0), 0.02));
  EXPECT_TRUE(MedianIsSettled(std::vector<double>(11, 1.0), 0.02));
}

TEST(Stopping, RanksOfTwentyFive) {
  // n = 25: ranks 12.5 -+ 4.9, rounded outwards, are 7 and 19; tables give 8 and 18 for 95.7 %.
  std::vector<double> v(25, 1.0);
  std::fill_n(v.begin(), 6, 0.5);
  std::fill_n(v.rbegin(), 6, 2.0);
  EXPECT_TRUE(MedianIsSettled(v, 0.02));  // ranks 1 to 6 and 20 to 25 are far off
  v[6] = 0.97;
  EXPECT_FALSE(MedianIsSettled(v, 0.02));
  v[6] = 1.0;
  v[18] = 1.03;
  EXPECT_FALSE(MedianIsSettled(v, 0.02));
  EXPECT_TRUE(MedianIsSettled(v, 0.04));
}

TEST(Stopping, WhereItStopsTheMedianIsRight) {
  // Skewed as timings are: 1 + an exponential of mean 0.1, median 1 + 0.1 ln 2.
  std::mt19937_64 random(1);
  std::exponential_distribution<double> delay(10);
  const double median = 1 + 0.1 * std::log(2.0);
  int off = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<double> v;
    do {
      v.push_back(1 + delay(random));
    } while (!MedianIsSettled(v, 0.02));
    std::vector<double> sorted = v;
    std::sort(sorted.begin(), sorted.end());
    if (std::fabs(sorted[sorted.size() / 2] - median) > 0.02 * median) ++off;
  }
  // Asking after every repetition gives it more chances to stop early than the 5 % of one look.
  EXPECT_LT(off, 60);
}

}  // namespace
}  // namespace assay
