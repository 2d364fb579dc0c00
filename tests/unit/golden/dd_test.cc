// SPDX-License-Identifier: Apache-2.0
#include "golden/dd/dd.h"

#include <gtest/gtest.h>

#include "golden/dd/inverse_factorial.h"
#include "harness/core/data/fill/rng.h"
#include "tests/support/mpfr.h"

namespace assay {
namespace {

using test::Mpfr;

void Load(DD x, Mpfr& out) {
  mpfr_set_d(out.x, x.hi, MPFR_RNDN);
  mpfr_add_d(out.x, out.x, x.lo, MPFR_RNDN);
}

// |got - reference| / max(floor, |reference|)
double RelativeError(const Mpfr& reference, DD got, double floor) {
  const double size = std::max(floor, std::fabs(reference.Rounded()));
  return reference.DistanceFrom(got.hi, got.lo) / size;
}

double ExpError(DD x) {
  Mpfr reference;
  Load(x, reference);
  mpfr_exp(reference.x, reference.x, MPFR_RNDN);
  return RelativeError(reference, Exp(x), 0);
}

double LogError(DD x) {
  Mpfr reference;
  Load(x, reference);
  mpfr_log(reference.x, reference.x, MPFR_RNDN);
  return RelativeError(reference, Log(x), 1);
}

TEST(DoubleDouble, InverseFactorials) {
  Mpfr factorial, inverse;
  for (int k = 2; k <= kMaxInverseFactorial; ++k) {
    mpfr_fac_ui(factorial.x, static_cast<unsigned long>(k), MPFR_RNDN);
    mpfr_ui_div(inverse.x, 1, factorial.x, MPFR_RNDN);
    EXPECT_LE(RelativeError(inverse, InverseFactorial(k), 0), 0x1p-106) << k;
  }
}

TEST(DoubleDouble, ExpOfManyPoints) {
  RandomStream random(1, 0);
  double worst = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    const double range = std::ldexp(1.0, static_cast<int>(random.Below(3 * i, 40)) - 30);  // 2^-30 .. 2^9
    const double x = (2 * random.Uniform(3 * i + 1) - 1) * std::min(range, 640.0);
    worst = std::max(worst, ExpError(TwoSum(x, x * 0x1p-54 * (random.Uniform(3 * i + 2) - 0.5))));
  }
  EXPECT_LT(worst, kDDFunctionError);
  EXPECT_LT(worst, 0x1p-97);  // what it reaches; the constant above is what is certified
}

TEST(DoubleDouble, ExpOfExtremes) {
  for (const double x : {0.0, -0.0, 0x1p-1074, 0x1p-60, -0x1p-60, 0.34657359027997264, -0.34657359027997264, 640.0,
                         700.0, -640.0, 1.0, -1.0}) {
    EXPECT_LT(ExpError({x, 0}), kDDFunctionError) << x;
  }
  // Below about -670 the low part leaves double's range; what is left is still tiny beside 1.
  EXPECT_NEAR(Exp({-700, 0}).hi / 9.8596765437597708e-305, 1, 1e-14);
}

TEST(DoubleDouble, LogOfManyPoints) {
  RandomStream random(2, 0);
  double worst = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    const int exponent = static_cast<int>(random.Below(3 * i, 1900)) - 900;
    const double x = std::ldexp(1 + random.Uniform(3 * i + 1), i % 2 == 0 ? exponent : 0);
    worst = std::max(worst, LogError(TwoSum(x, x * 0x1p-54 * (random.Uniform(3 * i + 2) - 0.5))));
  }
  EXPECT_LT(worst, kDDFunctionError);
  EXPECT_LT(worst, 0x1p-97);
}

// Relative to the result, which is as small as x.
TEST(DoubleDouble, Log1pOfManyPoints) {
  RandomStream random(3, 0);
  double worst = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    const int exponent = static_cast<int>(random.Below(3 * i, 860)) - 850;
    const double x = std::ldexp(1 + random.Uniform(3 * i + 1), i % 2 == 0 ? exponent : -static_cast<int>(i % 16));
    const DD point = TwoSum(x, x * 0x1p-54 * (random.Uniform(3 * i + 2) - 0.5));
    Mpfr reference;
    Load(point, reference);
    mpfr_log1p(reference.x, reference.x, MPFR_RNDN);
    worst = std::max(worst, RelativeError(reference, Log1p(point), 0));
  }
  EXPECT_LT(worst, 5 * kDDFunctionError);
  EXPECT_LT(worst, 0x1p-95);
  EXPECT_EQ(Log1p({0, 0}).hi, 0);
}

TEST(DoubleDouble, LogOfExtremes) {
  for (const double x : {1.0, 1 + 0x1p-52, 1 - 0x1p-53, 0x1p-1022, 0x1.fffffffffffffp+1023, 0x1.6a09e667f3bcdp-1,
                         0x1.6a09e667f3bccp-1, 2.0, 0.5, 0x1p-600, 0x1p600}) {
    EXPECT_LT(LogError({x, 0}), kDDFunctionError) << x;
  }
  EXPECT_EQ(Log({1, 0}).hi, 0);
  EXPECT_DOUBLE_EQ(Log({1, 0x1p-80}).hi, 0x1p-80);
}

TEST(DoubleDouble, Operations) {
  RandomStream random(3, 0);
  for (uint64_t i = 0; i < 5000; ++i) {
    const DD x = TwoSum(random.Normal(4 * i), random.Normal(4 * i + 1) * 0x1p-55);
    const DD y = TwoSum(random.Normal(4 * i + 2), random.Normal(4 * i + 3) * 0x1p-55);
    Mpfr a, b, r;
    Load(x, a);
    Load(y, b);
    mpfr_add(r.x, a.x, b.x, MPFR_RNDN);
    EXPECT_LT(RelativeError(r, x + y, 0), 3.1 * 0x1p-106);
    mpfr_mul(r.x, a.x, b.x, MPFR_RNDN);
    EXPECT_LT(RelativeError(r, x * y, 0), 4 * 0x1p-106);
    mpfr_mul_d(r.x, a.x, y.hi, MPFR_RNDN);
    EXPECT_LT(RelativeError(r, x * y.hi, 0), 2 * 0x1p-106);
  }
}

}  // namespace
}  // namespace assay
