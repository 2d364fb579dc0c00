// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace assay {
namespace {

// y = 0 with A = 1 for every element, so that an output is its own margin.
struct Fixture {
  Golden golden;
  BoundModel bound;
  Contract contract;
  explicit Fixture(int64_t n) {
    golden.shape = {n};
    golden.value.assign(static_cast<size_t>(n), 0.0);
    golden.magnitude = golden.sigma = golden.error = Plane(n, false);
    bound.constant = 1;
    bound.overflow_at = bound.partial_overflow_at = HUGE_VAL;
  }
  MarginHistogram Count(const std::vector<double>& got) const {
    Tensor tensor(DType::kF32, golden.shape);
    tensor.SetDoubles(got);
    return CountMargins(golden, bound, contract, tensor);
  }
};

TEST(MarginHistogram, EveryBinHasItsRange) {
  const Fixture f(6);
  const MarginHistogram bins = f.Count({0, 0x1p-24, 0x1.8p-20, 0.3, 0.75, -5});
  EXPECT_EQ(bins[0], 1);
  EXPECT_EQ(bins[1], 1);
  EXPECT_EQ(bins[2], 1);
  EXPECT_EQ(bins[20], 1);  // [2^-2, 2^-1)
  EXPECT_EQ(bins[21], 1);  // [2^-1, 1)
  EXPECT_EQ(bins[22], 1);
}

TEST(MarginHistogram, NonFiniteElementsAreNotCounted) {
  const Fixture f(3);
  const MarginHistogram bins = f.Count({0, HUGE_VAL, NAN});
  EXPECT_EQ(std::accumulate(bins.begin(), bins.end(), int64_t{0}), 1);
}

TEST(MarginHistogram, ALargeTensorIsSampledEvenly) {
  const int64_t n = 3 * kHistogramSamples;
  const Fixture f(n);
  std::vector<double> got(static_cast<size_t>(n), 0.0);
  for (int64_t i = n / 2; i < n; ++i) got[static_cast<size_t>(i)] = 0.75;
  const MarginHistogram bins = f.Count(got);
  EXPECT_EQ(bins[0], kHistogramSamples / 2);
  EXPECT_EQ(bins[21], kHistogramSamples / 2);
}

}  // namespace
}  // namespace assay
