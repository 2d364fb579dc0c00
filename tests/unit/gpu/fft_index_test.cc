// SPDX-License-Identifier: Apache-2.0
// The stages of a transform, run here with the kernels' own index arithmetic, give the transform.
#include <gtest/gtest.h>

#include <complex>
#include <numbers>
#include <set>
#include <vector>

#include "backends/gpu/device/fft_params.h"

namespace gpu {
namespace {

using Number = std::complex<double>;

Number Root(int64_t j, int64_t n) {
  return std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(j % n) / static_cast<double>(n));
}

std::vector<Number> Stage(const FftStageParams& p, const std::vector<Number>& from) {
  std::vector<Number> to(from.size(), Number(-1e300));
  for (int64_t number = 0; number < p.count; ++number) {
    const Butterfly b = ButterflyOf(p, number);
    for (int64_t t = 0; t < p.radix; ++t) {
      Number sum = 0;
      for (int64_t j = 0; j < p.radix; ++j) {
        sum += from[static_cast<size_t>(b.in + j * b.in_step)] * Root(j * t, p.radix);
      }
      to[static_cast<size_t>(b.out + t * b.out_step)] = sum * Root(t * b.turn, p.n);
    }
  }
  return to;
}

void ExpectTransform(int64_t n, int64_t inner, const std::vector<int32_t>& radices) {
  constexpr int64_t kOuter = 2;
  std::vector<Number> x;
  for (int64_t i = 0; i < kOuter * n * inner; ++i)
    x.emplace_back(static_cast<double>(i % 7), static_cast<double>(i % 5));
  std::vector<Number> y = x;
  FftStageParams p;
  p.n = p.m = n, p.inner = inner;
  for (const int32_t radix : radices) {
    p.radix = radix, p.m /= radix, p.count = kOuter * inner * n / radix;
    y = Stage(p, y);
    p.s *= radix;
  }
  for (int64_t line = 0; line < kOuter * inner; ++line) {
    const int64_t start = line / inner * n * inner + line % inner;
    for (int64_t k = 0; k < n; ++k) {
      Number expected = 0;
      for (int64_t j = 0; j < n; ++j) expected += x[static_cast<size_t>(start + j * inner)] * Root(j * k, n);
      EXPECT_LT(std::abs(y[static_cast<size_t>(start + k * inner)] - expected), 1e-10) << n << " " << line << " " << k;
    }
  }
}

TEST(ButterflyOf, StagesOfAnyRadicesMakeTheTransform) {
  ExpectTransform(16, 1, {16});
  ExpectTransform(64, 3, {16, 4});
  ExpectTransform(60, 2, {4, 3, 5});
  ExpectTransform(128, 1, {8, 16});
}

TEST(PlaceOf, AHalfSpectrumIsReadAsItsMirrorImage) {
  FftMoveParams p;  // c2r of 4 x 6: stored are 4 x 4
  p.axes = 2, p.mirrored = 1, p.row = 4, p.full_row = 6, p.points = 24;
  p.size[0] = 4, p.size[1] = 4, p.stride[0] = 4, p.stride[1] = 1;
  for (int64_t row = 0; row < 4; ++row) {
    for (int64_t column = 0; column < 6; ++column) {
      const FftPlace place = PlaceOf(p, row * 6 + column);
      const bool mirrored = column > 3;
      EXPECT_EQ(place.conjugate, mirrored);
      EXPECT_EQ(place.offset, mirrored ? (4 - row) % 4 * 4 + 6 - column : row * 4 + column) << row << " " << column;
    }
  }
}

TEST(LineElement, WalksEveryElementOfAWorkspaceOnce) {
  FftChirpParams p;
  p.n = 5, p.inner = 3;
  std::set<int64_t> seen;
  for (int64_t line = 0; line < 6; ++line) {
    for (int64_t j = 0; j < p.n; ++j) EXPECT_TRUE(seen.insert(LineElement(p, line, j)).second);
  }
  EXPECT_EQ(*seen.rbegin(), 29);
}

}  // namespace
}  // namespace gpu
