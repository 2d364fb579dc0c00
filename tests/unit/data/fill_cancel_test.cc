// SPDX-License-Identifier: Apache-2.0
// The condition number that cancel-K achieves, measured.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include "harness/core/data/fill/fill.h"

namespace assay {
namespace {

Tensor FilledWithCancel(const std::string& fill, DType dtype, Shape shape, int axis, int role) {
  Tensor tensor(dtype, std::move(shape));
  FillTensor(ParseFill(fill).value(), 1, static_cast<uint64_t>(role), axis, role, tensor);
  return tensor;
}

// Condition of every dot product of `rows` rows of a with as many columns of b, in long double.
void ExpectCondition(DType dtype, int64_t length, double condition, double factor) {
  constexpr int64_t kRows = 6, kColumns = 5;
  const auto fill = "cancel-" + std::to_string(static_cast<int64_t>(condition));
  const auto a = FilledWithCancel(fill, dtype, {kRows, length}, 1, 0).ToDoubles();
  const auto b = FilledWithCancel(fill, dtype, {length, kColumns}, 0, 1).ToDoubles();
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t column = 0; column < kColumns; ++column) {
      long double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < length; ++k) {
        const long double term = static_cast<long double>(a[static_cast<size_t>(row * length + k)]) *
                                 b[static_cast<size_t>(k * kColumns + column)];
        sum += term;
        magnitude += std::fabs(term);
      }
      const auto achieved = static_cast<double>(magnitude / std::fabs(sum));
      EXPECT_LT(achieved, condition * factor) << Name(dtype) << " " << fill << " length " << length;
      EXPECT_GT(achieved, condition / factor) << Name(dtype) << " " << fill << " length " << length;
    }
  }
}

TEST(FillCancel, ReachesItsCondition) {
  for (DType dtype : {DType::kF64, DType::kF32, DType::kBF16}) {
    for (double condition : {1e1, 1e2, 1e4, 1e6, 1e8}) {
      for (int64_t length : {3, 64, 77, 512, 4096}) {
        if (length > 3 || condition > 10) ExpectCondition(dtype, length, condition, length > 3 ? 2 : 4);
      }
    }
  }
  for (double condition : {1e1, 1e3, 1e6}) ExpectCondition(DType::kF16, 4096, condition, 2);
  for (double condition : {1e1, 1e3, 1e5}) ExpectCondition(DType::kE4M3, 4096, condition, 2);
  for (double condition : {1e1, 1e3, 1e5}) ExpectCondition(DType::kI8, 4096, condition, 4);
  ExpectCondition(DType::kF64, 2, 1e6, 4);
}

// Neither the real nor the imaginary part of a complex sum is much better conditioned than asked, or much worse.
TEST(FillCancel, ComplexParts) {
  constexpr int64_t kLength = 512;
  const auto a = FilledWithCancel("cancel-1e5", DType::kC64, {kLength}, 0, 0).ToDoubles();
  const auto b = FilledWithCancel("cancel-1e5", DType::kC64, {kLength}, 0, 1).ToDoubles();
  std::complex<double> sum = 0;
  double magnitude = 0;
  for (size_t k = 0; k < kLength; ++k) {
    const auto term = std::complex(a[2 * k], a[2 * k + 1]) * std::complex(b[2 * k], b[2 * k + 1]);
    sum += term;
    magnitude += std::abs(term) / std::sqrt(2.0);
  }
  for (double part : {sum.real(), sum.imag()}) {
    EXPECT_GT(magnitude / std::fabs(part), 1e5 / 4);
    EXPECT_LT(magnitude / std::fabs(part), 1e5 * 4);
  }
}

// Operands that are added to the cancelled sum must not drown it.
TEST(FillCancel, AddendsAreSmall) {
  for (double x : FilledWithCancel("cancel-1e5", DType::kF32, {1000}, 0, 2).ToDoubles()) EXPECT_LT(std::fabs(x), 1e-4);
}

}  // namespace
}  // namespace assay
