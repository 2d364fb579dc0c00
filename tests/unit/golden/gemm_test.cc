// SPDX-License-Identifier: Apache-2.0
#include "golden/gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/core/data/fill/fill.h"
#include "harness/core/data/fill/rng.h"
#include "tests/support/mpfr.h"
#include "tests/unit/special_values.h"

namespace assay {
namespace {

struct Case {
  GemmShape shape;
  Tensor a, b;
};

Case MakeCase(const GemmShape& s, DType da, DType db, const std::string& fill, uint64_t seed) {
  Case c{.shape = s,
         .a = Tensor(da, s.transa ? Shape{s.batch, s.k, s.m} : Shape{s.batch, s.m, s.k}),
         .b = Tensor(db, s.transb ? Shape{s.batch, s.n, s.k} : Shape{s.batch, s.k, s.n})};
  const FillSpec spec = ParseFill(fill).value();
  FillTensor(spec, seed, 0, s.transa ? 1 : 2, 0, c.a);
  FillTensor(spec, seed, 1, s.transb ? 2 : 1, 1, c.b);
  return c;
}

struct Operands {
  const GemmShape& s;
  std::vector<double> a, b;
  explicit Operands(const Case& c) : s(c.shape), a(c.a.ToDoubles()), b(c.b.ToDoubles()) {}
  double A(int64_t batch, int64_t i, int64_t k) const {
    return a[batch * s.m * s.k + (s.transa ? k * s.m + i : i * s.k + k)];
  }
  double B(int64_t batch, int64_t k, int64_t j) const {
    return b[batch * s.k * s.n + (s.transb ? j * s.k + k : k * s.n + j)];
  }
};

void ExpectElement(const Operands& in, const Golden& golden, int64_t index) {
  const GemmShape& s = in.s;
  const int64_t batch = index / s.n / s.m, i = index / s.n % s.m, j = index % s.n;
  test::ReferenceSum finite;
  double nonfinite = 0, energy = 0, running = 0;
  for (int64_t k = 0; k < s.k; ++k) {
    const double x = in.A(batch, i, k), y = in.B(batch, k, j);
    if (std::isfinite(x) && std::isfinite(y)) {
      finite.AddProduct(x, y);
      running += x * y;
    } else {
      nonfinite += x * y;
    }
    const int64_t width = std::min<int64_t>(kSigmaPanel, k % kSigmaPanel + 1);
    if ((k + 1) % kSigmaPanel == 0 || k + 1 == s.k) energy += static_cast<double>(width) * running * running;
  }
  SCOPED_TRACE(index);
  if (nonfinite != 0) {
    if (std::isnan(nonfinite)) {
      EXPECT_TRUE(std::isnan(golden.value[index]));
    } else {
      EXPECT_EQ(golden.value[index], nonfinite);
    }
  } else if (golden.exact) {
    EXPECT_EQ(finite.ErrorOf(golden.value[index], 0), 0);
    return;
  } else {
    const double lo = golden.value_lo.empty() ? 0 : golden.value_lo[index];
    EXPECT_LE(finite.ErrorOf(golden.value[index], lo), golden.error[index]);
    if (!golden.value_lo.empty() && std::isfinite(golden.error[index])) {
      EXPECT_EQ(golden.value[index] + lo, golden.value[index]);
    }
  }
  const double magnitude = finite.Magnitude();
  EXPECT_GE(golden.magnitude[index], magnitude);
  if (golden.magnitude.wide()) {
    EXPECT_LE(golden.magnitude[index], magnitude * (1 + 1e-3) + static_cast<double>(s.k + 1) * 0x1p-1072);
  } else if (magnitude < 3e38) {
    EXPECT_LE(golden.magnitude[index], magnitude * (1 + 1e-3) + 0x1p-147);
  }
  const double least = kRoundingDeviation * std::sqrt(energy);  // backward sums only add
  if (std::isnormal(least) && least > 0x1p-120 && least < 1e38 && nonfinite == 0 && golden.error[index] < kInf) {
    EXPECT_GE(golden.sigma[index], least * (1 - 1e-6));
  }
}

void ExpectSampled(const Case& c, Tier tier, int samples) {
  const bool wide = c.a.dtype() == DType::kF64;
  const Golden golden = GoldenGemm(c.shape, c.a, c.b, tier, wide);
  const Operands in(c);
  RandomStream random(7, 0);
  for (int i = 0; i < samples; ++i) {
    ExpectElement(in, golden, static_cast<int64_t>(random.Below(i, static_cast<uint64_t>(golden.size()))));
  }
}

class GemmTypes : public ::testing::TestWithParam<DType> {};

TEST_P(GemmTypes, WithinItsOwnErrorForEveryFill) {
  for (const std::string fill :
       {"normal", "uniform", "lognormal", "outlier", "cancel-1e6", "ramp", "subnormal", "special", "pow2", "coded"}) {
    for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
      SCOPED_TRACE(fill + " " + std::string(Name(tier)));
      ExpectSampled(MakeCase({.m = 37, .n = 70, .k = 300}, GetParam(), GetParam(), fill, 1), tier, 60);
    }
  }
}

TEST_P(GemmTypes, OddSizesTransposesBatches) {
  int turn = 0;
  for (const int64_t size : {1, 63, 64, 65, 130}) {
    for (int flags = 0; flags < 4; ++flags) {
      const GemmShape s{.m = size,
                        .n = 131 - size,
                        .k = size,
                        .batch = 1 + turn % 3,
                        .transa = (flags & 1) != 0,
                        .transb = (flags & 2) != 0};
      SCOPED_TRACE(turn);
      ExpectSampled(MakeCase(s, GetParam(), GetParam(), "normal", turn), Tier::kFast, 30);
      ExpectSampled(MakeCase(s, GetParam(), GetParam(), "normal", turn), Tier::kReproducible, 30);
      ++turn;
    }
  }
}

TEST_P(GemmTypes, SeveralTilesAndMagnitudeBlocks) {
  ExpectSampled(MakeCase({.m = 150, .n = 300, .k = 5000}, GetParam(), GetParam(), "normal", 3), Tier::kFast, 20);
}

INSTANTIATE_TEST_SUITE_P(Types, GemmTypes,
                         ::testing::Values(DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kE4M3,
                                           DType::kE5M2, DType::kI8),
                         [](const auto& type) { return std::string(Name(type.param)); });

// Also where a row's largest entry is far above what enters an element, so that sums with an anchor are too coarse.
TEST(Gemm, ReproducibleErrorsAreFarBelowDoublesRounding) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    for (const std::string fill : {"normal", "outlier", "lognormal", "cancel-1e6"}) {
      Case c = MakeCase({.m = 13, .n = 41, .k = 700}, dtype, dtype, fill, 2);
      std::vector<double> a = c.a.ToDoubles();
      a[700 * 3 + 5] = 0x1p120, a[700 * 4 + 5] = 0x1p-120;  // rows 3 and 4; column 7 meets neither
      c.a.SetDoubles(a);
      std::vector<double> b = c.b.ToDoubles();
      b[5 * 41 + 7] = 0;
      c.b.SetDoubles(b);
      const Golden golden = GoldenGemm(c.shape, c.a, c.b, Tier::kReproducible, dtype == DType::kF64);
      const Operands in(c);
      for (int64_t i = 0; i < golden.size(); ++i)
        ASSERT_LE(golden.error[i], 0x1p-69 * golden.magnitude[i]) << fill << i;
      for (int64_t i = 3 * 41; i < 5 * 41; ++i) ExpectElement(in, golden, i);
    }
  }
}

TEST(Gemm, MixedTypes) {
  ExpectSampled(MakeCase({.m = 20, .n = 30, .k = 100}, DType::kBF16, DType::kF32, "normal", 1), Tier::kFast, 50);
  ExpectSampled(MakeCase({.m = 20, .n = 30, .k = 100}, DType::kF64, DType::kF32, "normal", 1), Tier::kFast, 50);
}

Tensor Filled(DType dtype, Shape shape, std::vector<double> values) {
  Tensor t(dtype, std::move(shape));
  t.SetDoubles(values);
  return t;
}

TEST(Gemm, ZeroTimesInfinityIsNaNAndInfinitiesCancel) {
  const Tensor a = Filled(DType::kF32, {3, 2}, {0, 1, kInf, 1, -kInf, kInf});
  const Tensor b = Filled(DType::kF32, {2, 3}, {kInf, 0, 1, 1, 1, 1});
  const double expected[] = {std::nan(""), 1, 1, kInf, std::nan(""), kInf, std::nan(""), std::nan(""), std::nan("")};
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    const Golden golden = GoldenGemm({.m = 3, .n = 3, .k = 2}, a, b, tier, false);
    for (int i = 0; i < 9; ++i) {
      if (std::isnan(expected[i])) {
        EXPECT_TRUE(std::isnan(golden.value[i])) << i;
      } else {
        EXPECT_EQ(golden.value[i], expected[i]) << i;
      }
      EXPECT_TRUE(std::isfinite(golden.magnitude[i])) << i;
    }
  }
}

TEST(Gemm, SubnormalMassIsTheShareOfSubnormalFactors) {
  const Tensor a = Filled(DType::kF16, {1, 3}, {0x1p-20, 2, 3});
  const Tensor b = Filled(DType::kF16, {3, 1}, {5, 0x1p-16, 7});
  const Golden golden = GoldenGemm({.m = 1, .n = 1, .k = 3}, a, b, Tier::kFast, false);
  ASSERT_NE(golden.Extra("subnormal_mass"), nullptr);
  EXPECT_NEAR((*golden.Extra("subnormal_mass"))[0], 5 * 0x1p-20 + 2 * 0x1p-16, 1e-10);
  EXPECT_GE((*golden.Extra("subnormal_mass"))[0], 5 * 0x1p-20 + 2 * 0x1p-16);
}

TEST(Gemm, OverflowOfDoubleLeavesEverythingOpen) {
  const Tensor a = Filled(DType::kF64, {1, 3}, {1e300, 1e300, -1e300});
  const Tensor b = Filled(DType::kF64, {3, 1}, {1e300, 1, 1e300});
  const Golden golden = GoldenGemm({.m = 1, .n = 1, .k = 3}, a, b, Tier::kReproducible, true);
  EXPECT_EQ(golden.error[0], kInf);
  EXPECT_FALSE(std::isnan(golden.value[0]));
}

TEST(Gemm, SigmaOfOneTermAndOfOnePanel) {
  const Tensor a = Filled(DType::kF32, {1, 1}, {3});
  const Golden one = GoldenGemm({}, a, a, Tier::kFast, false);
  EXPECT_FLOAT_EQ(one.sigma[0], 0.425 * 9);
  const Tensor ones = Filled(DType::kF32, {10, 1}, std::vector<double>(10, 1.0));
  const Golden ten = GoldenGemm({.k = 10}, ones, ones, Tier::kReproducible, false);
  EXPECT_FLOAT_EQ(ten.sigma[0], 0.425 * std::sqrt(10.0) * 10);
}

TEST(Gemm, NoTermsGiveZero) {
  const Golden golden = GoldenGemm({.m = 2, .n = 2, .k = 0}, Tensor(DType::kF32, {2, 0}), Tensor(DType::kF32, {0, 2}),
                                   Tier::kFast, false);
  EXPECT_EQ(golden.value, std::vector<double>(4, 0.0));
  EXPECT_EQ(golden.error[0], 0);
}

}  // namespace
}  // namespace assay
