// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/scan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "harness/core/data/fill/rng.h"
#include "tests/unit/judge/judged_case.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(BinomialUpperQuantile, IsTheLeastWithThatTail) {
  const auto tail = [](int64_t n, double p, int64_t c) {  // P(X > c), from the definition
    double sum = 0;
    for (int64_t k = c + 1; k <= n; ++k) {
      double term = 1;
      for (int64_t j = 0; j < k; ++j) term *= static_cast<double>(n - j) / static_cast<double>(j + 1) * p;
      sum += term * std::pow(1 - p, static_cast<double>(n - k));
    }
    return sum;
  };
  for (const int64_t n : {16, 64, 150}) {
    for (const double p : {1e-4, 0.01, 0.2}) {
      for (const double delta : {1e-3, 1e-6, 1e-9}) {
        const int64_t c = BinomialUpperQuantile(n, p, delta);
        EXPECT_LE(tail(n, p, c), delta * (1 + 1e-9)) << n << " " << p << " " << delta;
        EXPECT_TRUE(c == 0 || tail(n, p, c - 1) > delta * (1 - 1e-9)) << n << " " << p << " " << delta;
      }
    }
  }
  EXPECT_EQ(BinomialUpperQuantile(5, 1, 1e-6), 5);
  // A normal distribution gives 63342 + 4.75 * 251.7.
  EXPECT_NEAR(static_cast<double>(BinomialUpperQuantile(1000000000, kOutlierChance, 1e-6)), 64546, 40);
}

// Chance of a normal number beyond kOutlierLevel deviations that are kModelSlack times too small.
TEST(OutlierChance, IsTheNormalTail) {
  EXPECT_NEAR(kOutlierChance, std::erfc(kOutlierLevel / kModelSlack / std::sqrt(2.0)), 1e-18);
}

// An f32 tensor without errors but r = 6 at `places`.
ErrorMetrics WithOutliers(const Shape& shape, const std::vector<int64_t>& places) {
  JudgedCase c({.shape = shape, .noise = 0});
  c.bound.terms[0].coefficient = 0x1p-17;
  const FloatFormat& format = FormatOf(DType::kF32);
  const ElementJudge judge(c.golden, c.bound, c.contract, DType::kF32);
  std::vector<double> got;
  for (const double y : c.golden.value) got.push_back(RoundTo(format, y));
  for (const int64_t i : places) {
    const double y = c.golden.value[static_cast<size_t>(i)];
    const double y6 = RoundTo(format, y + UlpAt(format, y) / 2 + 6 * judge.Sigma(i));
    const double r = judge.Deviation(i, judge.Judge(i, y6));
    EXPECT_GT(r, 5);
    EXPECT_LT(r, 8);
    got[static_cast<size_t>(i)] = y6;
  }
  c.got.SetDoubles(got);
  return c.Judge();
}

constexpr int64_t kScanRows = 128, kScanColumns = 128;
constexpr int64_t kCount = 8;

TEST(Outliers, ScatteredOnesPassWithinTheBudget) {
  std::vector<int64_t> places;
  for (int64_t k = 0; k < kCount; ++k) places.push_back((k * 17 + 3) * kScanColumns + (k * 43 + 5) % 119);
  const ErrorMetrics m = WithOutliers({kScanRows, kScanColumns}, places);
  EXPECT_TRUE(m.Holds());
  EXPECT_EQ(m.statistic.outliers, kCount);
  EXPECT_TRUE(m.statistic.Holds()) << m.statistic.reason;
}

TEST(Outliers, MoreThanTheBudgetFail) {
  std::vector<int64_t> places;
  for (int64_t k = 0; k < 40; ++k) places.push_back((k * 3 + 1) * kScanColumns + (k * 43 + 5) % 119);
  const ErrorMetrics m = WithOutliers({kScanRows, kScanColumns}, places);
  EXPECT_FALSE(m.statistic.Holds());
  EXPECT_THAT(m.statistic.reason, HasSubstr("40 of 40 values beyond 5 standard deviations lie in the whole tensor"));
}

struct Place {
  const char* where;
  int64_t row, column, row_step, column_step;
};

class OutliersTogether : public testing::TestWithParam<Place> {};

// Equally many outliers pass when they are scattered.
TEST_P(OutliersTogether, AreAClusterThatFails) {
  const Place& at = GetParam();
  std::vector<int64_t> places;
  for (int64_t k = 0; k < kCount; ++k) {
    places.push_back((at.row + k * at.row_step) % kScanRows * kScanColumns +
                     (at.column + k * at.column_step) % kScanColumns);
  }
  std::ranges::sort(places);
  const ErrorMetrics m = WithOutliers({kScanRows, kScanColumns}, places);
  EXPECT_LT(m.statistic.max_r, kElementThreshold);
  EXPECT_FALSE(m.statistic.Holds());
  EXPECT_THAT(m.statistic.reason, HasSubstr(at.where));
}

INSTANTIATE_TEST_SUITE_P(Places, OutliersTogether,
                         testing::Values(Place{"the row at [37,0]", 37, 3, 0, 17}, Place{"column 90", 2, 90, 15, 0},
                                         Place{"the 16 x 16 tile at [48,64]", 49, 65, 1, 1},
                                         Place{"column 127", 4, 127, 15, 0}, Place{"the row at [127,0]", 127, 5, 0, 15},
                                         Place{"every 16th column from 6", 1, 6, 16, 32}));

// Beyond the last whole tile, of all slabs together.
TEST(Outliers, AtTheEdgesOfSeveralSlabsAreACluster) {
  const Shape shape{16, 67, 64};
  std::vector<int64_t> places;
  for (int64_t slab = 0; slab < 16; slab += 2) places.push_back((slab * 67 + 64 + slab % 3) * 64 + slab * 4 + 1);
  const Cluster found = WorstCluster(shape, 1, places);
  EXPECT_GT(found.margin, 1);
  EXPECT_EQ(found.where, "the last 3 rows");
  EXPECT_EQ(found.count, 8);
}

// Independent outliers of twice the chance that the model grants alarm at most as often as their sum says; of the
// chance itself, never in this many tensors.
TEST(Outliers, IndependentOnesDoNotAlarm) {
  const RandomStream random(11, 1);
  uint64_t draw = 0;
  double largest = 0;
  for (const Shape& shape : {Shape{64, 64}, Shape{300, 40}, Shape{4, 70, 100}, Shape{512, 512}, Shape{3000}}) {
    const double values = static_cast<double>(NumElements(shape));
    for (int tensor = 0; tensor < 2000; ++tensor) {
      std::vector<int64_t> places;
      // The gaps between successes are geometric.
      for (double at = -1;;) {
        at += 1 + std::floor(std::log(1 - random.Uniform(draw++)) / std::log1p(-kOutlierChance));
        if (at >= values) break;
        places.push_back(static_cast<int64_t>(at));
      }
      largest = std::max(largest, WorstCluster(shape, 1, places).margin);
    }
  }
  EXPECT_LE(largest, 1);
  EXPECT_GT(largest, 0.3);  // they came near it
}

}  // namespace
}  // namespace assay
