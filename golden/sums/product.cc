// SPDX-License-Identifier: Apache-2.0
// Row products as significand (double-double) times a power of two, so that the order cannot overflow or underflow.
#include <algorithm>
#include <cmath>
#include <limits>

#include "golden/dd/dd.h"
#include "golden/sums/sum.h"
#include "harness/core/base/check.h"
#include "harness/core/base/float_environment.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"

namespace assay {
namespace {

struct ScaledProduct {
  DD significand{1, 0};
  int64_t exponent = 0;

  void Multiply(double x) {  // finite, not zero
    int e = 0;
    significand = significand * std::frexp(x, &e);
    exponent += e;
    if (std::fabs(significand.hi) < 0x1p-400) {  // factors are at least 1/2: far from losing the low part
      significand = Scale(significand, 0x1p400);
      exponent -= 400;
    }
  }
  double Log2() const {
    constexpr double kInverseLn2 = 0x1.71547652b82fep+0;
    return static_cast<double>(exponent) + Log(significand).hi * kInverseLn2;
  }
  // In steps, because one ldexp takes an int and a product of many large numbers has a larger exponent.
  double Part(double part) const {
    const int64_t limit = 4000;
    return std::ldexp(part, static_cast<int>(std::min(std::max(exponent, -limit), limit)));
  }
};

struct RowProduct {
  ScaledProduct up, down, all;
  double special = 1;  // the product of zeros, infinities and NaNs
};

RowProduct MultiplyRow(const double* x, int64_t k) {
  RowProduct row;
  for (int64_t i = 0; i < k; ++i) {
    const double abs = std::fabs(x[i]);
    if (!(abs > 0 && abs < kInfinity)) {
      row.special *= x[i];
      continue;
    }
    row.all.Multiply(x[i]);
    if (abs > 1) row.up.Multiply(abs);
    if (abs < 1) row.down.Multiply(abs);
  }
  return row;
}

void StoreProduct(const RowProduct& row, int64_t k, int64_t i, Golden& golden) {
  const bool ordinary = row.special == 1;
  double value = row.all.Part(row.all.significand.hi), lo = row.all.Part(row.all.significand.lo), error = 0;
  if (!ordinary) {
    value = std::isnan(row.special) ? std::numeric_limits<double>::quiet_NaN()
                                    : row.special * std::copysign(1.0, row.all.significand.hi);
    lo = 0;
  } else if (std::isinf(value)) {
    lo = 0;
    error = kInfinity;
  } else {
    // 2 u^2 per factor; the two conversions at the end round only below double's normal range.
    const double underflow = std::fabs(value) < 0x1p-960 ? 0x1p-1073 : 0;
    error = std::fabs(value) * static_cast<double>(k + 2) * 0x1p-103 + underflow;
  }
  golden.value[i] = value;
  golden.value_lo[i] = lo;
  golden.error.SetUp(i, error);
  const double magnitude = std::isfinite(value) ? std::fabs(value) * (1 + 0x1p-50) : 0;
  golden.magnitude.SetUp(i, magnitude);
  golden.sigma.Set(i, kRoundingDeviation * std::sqrt(static_cast<double>(k)) * magnitude);
}

}  // namespace

Golden GoldenRowProducts(std::span<const double> x, int64_t rows, int64_t k, bool wide) {
  ASSAY_CHECK(std::ssize(x) == rows * k);
  RequireFloatEnvironment("golden row product");
  Golden golden{.shape = {rows}, .tier = Tier::kReproducible};
  golden.value.resize(rows);
  golden.value_lo.resize(rows);
  golden.magnitude = golden.sigma = golden.error = Plane(rows, wide);
  Plane up(rows, wide), down(rows, wide);
  ParallelFor(rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, k)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const RowProduct row = MultiplyRow(x.data() + i * k, k);
      StoreProduct(row, k, i, golden);
      up.Set(i, row.up.Log2());
      down.Set(i, row.down.Log2());
    }
  });
  golden.extra.emplace_back("log2_up", std::move(up));
  golden.extra.emplace_back("log2_down", std::move(down));
  return golden;
}

}  // namespace assay
