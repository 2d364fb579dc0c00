// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/function_errors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/tools/fingerprint/function_inputs.h"

namespace assay {
namespace {

// 256 pairs of f64, the first of which is the `first` one of a sample.
Tensor TakeSample(int64_t first) {
  Tensor x(DType::kF64, {512});
  FunctionInputs::MakeSample(DType::kF64).Fill(first, x);
  return x;
}

FunctionErrors MeasureExp(const Tensor& x, double error_in_ulps) {
  const auto bound = BindCase(*ParseId("exp/f64/n=512/fill=normal/seed=0"));
  std::vector<double> y = x.ToDoubles();
  for (double& value : y) {
    const long double exact = std::exp(static_cast<long double>(value));
    value = static_cast<double>(exact);
    if (error_in_ulps > 0)
      value = static_cast<double>(exact + error_in_ulps * (std::nextafter(value, INFINITY) - value));
  }
  Tensor results(DType::kF64, {512});
  results.SetDoubles(y);
  return ExactResults(**bound, x, {0, 256}).Measure(results);
}

// A sample has 1,024 pairs in each power of two.
TEST(FunctionErrors, OfF64AreThoseAgainstMoreDigits) {
  const Tensor near_one = TakeSample(1023 * 1024);
  const FunctionErrors right = MeasureExp(near_one, 0);
  EXPECT_EQ(right.correct, 512);
  EXPECT_GT(right.most_ulp, 0.48);
  EXPECT_LT(right.most_ulp, 0.51);
  EXPECT_GT(MeasureExp(near_one, 0.3).most_ulp, 0.7);
}

TEST(FunctionErrors, NearUnderflowLeaveOutTheGoldenValuesOwnError) {
  const Tensor near_underflow = TakeSample(1032 * 1024 + 300);  // magnitudes 662 to 790
  const FunctionErrors right = MeasureExp(near_underflow, 0);
  EXPECT_EQ(right.wrong_specials(), 0);
  EXPECT_LT(right.most_ulp, 0.51);
  EXPECT_LT(right.most_subnormal_ulp, 0.51);
}

}  // namespace
}  // namespace assay
