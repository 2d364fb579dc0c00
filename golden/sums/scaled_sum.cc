// SPDX-License-Identifier: Apache-2.0
#include "golden/sums/scaled_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "golden/bound/bound.h"
#include "harness/core/data/infinity.h"

namespace assay {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kUp = 1 + 0x1p-40;

double Capped(double scaled, int exponent) {
  return std::min(std::ldexp(scaled * kUp, exponent), kLargest);
}

Plane& PlaneOf(Golden& golden, const char* name) {
  for (auto& [key, plane] : golden.extra) {
    if (key == name) return plane;
  }
  return golden.AddExtra(name, true);
}

}  // namespace

void ScaledSum::Rescale(int exponent) {
  const int down = exponent_ - exponent;
  total_ = {std::ldexp(total_.hi, down), std::ldexp(total_.lo, down)};
  positive_ = std::ldexp(positive_, down), negative_ = std::ldexp(negative_, down);
  exponent_ = exponent;
}

void ScaledSum::Add(double a, double b, double c) {
  ++terms_;
  finite_ = finite_ && std::isfinite(a) && std::isfinite(b) && std::isfinite(c);
  if (!finite_ || a == 0 || b == 0 || c == 0) return;
  int of_a = 0, of_b = 0, of_c = 0;
  const double x = std::frexp(a, &of_a), y = std::frexp(b, &of_b), z = std::frexp(c, &of_c);
  const DD product = TwoProd(x, y) * z;
  const int exponent = of_a + of_b + of_c;
  if (total_.hi == 0 && positive_ == 0 && negative_ == 0) exponent_ = exponent;
  if (exponent > exponent_) Rescale(exponent);
  const int down = exponent - exponent_;
  const DD term{std::ldexp(product.hi, down), std::ldexp(product.lo, down)};
  total_ = total_ + term;
  (term.hi > 0 ? positive_ : negative_) += std::fabs(term.hi);
}

void ScaledSum::Store(Golden& golden, int64_t i, double divisor) const {
  if (!finite_) return;
  const auto terms = static_cast<double>(terms_);
  const DD y = total_ / DD{divisor, 0};
  const double positive = positive_ / divisor, negative = negative_ / divisor, magnitude = positive + negative;
  // Products and additions of 5 u^2 each, the quotient's 2^-100; terms and parts that scaling made vanish.
  const double error = magnitude * (terms + 32) * 0x1p-103 + std::fabs(y.hi) * 0x1p-99 + terms * 0x1p-1000;
  // Bounds f64 operations in any order, for sums whose S no plane holds.
  const double any_order = magnitude * Gamma(terms + 4, 0x1p-51);
  const double limit = std::ldexp(1.0, std::max(-1000, 1024 - exponent_)), size = std::fabs(y.hi);

  double value = std::ldexp(y.hi, exponent_), lo = std::ldexp(y.lo, exponent_), certified = 0;
  if (size - error - any_order > limit) {
    value = std::copysign(kInfinity, y.hi), lo = 0;
  } else if (size + error >= limit * (1 - 0x1p-52)) {  // either side of the largest number
    value = std::copysign(kLargest, y.hi), lo = 0;
    certified = std::ldexp((std::fabs(size - limit) + error + limit * 0x1p-51) * kUp, exponent_);
  } else {
    certified = std::ldexp(error * kUp, exponent_) + 0x1p-1072;
    if (!std::isfinite(std::ldexp(magnitude * kUp, exponent_))) certified += std::ldexp(any_order * kUp, exponent_);
  }
  golden.value[static_cast<size_t>(i)] = value;
  if (golden.value_lo.empty()) {
    certified += std::fabs(lo);
  } else {
    golden.value_lo[static_cast<size_t>(i)] = lo;
  }
  golden.error.SetUp(i, certified);
  golden.magnitude.SetUp(i, Capped(magnitude, exponent_));
  golden.sigma.Set(i, Capped(kRoundingDeviation * std::sqrt(terms) * magnitude, exponent_));
  PlaneOf(golden, "positive_terms").SetUp(i, Capped(positive, exponent_));
  PlaneOf(golden, "negative_terms").SetUp(i, Capped(negative, exponent_));
}

}  // namespace assay
