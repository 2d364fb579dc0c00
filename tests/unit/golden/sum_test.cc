// SPDX-License-Identifier: Apache-2.0
#include "golden/sums/sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "golden/sums/ranks.h"
#include "harness/core/data/fill/fill.h"
#include "tests/support/mpfr.h"
#include "tests/unit/special_values.h"

namespace assay {
namespace {

using test::Mpfr;

std::vector<double> Data(DType dtype, int64_t rows, int64_t k, const std::string& fill) {
  Tensor t(dtype, {rows, k});
  FillTensor(ParseFill(fill).value(), 11, 0, 1, 0, t);
  return t.ToDoubles();
}

double Lo(const Golden& golden, int64_t i) {
  return golden.value_lo.empty() ? 0 : golden.value_lo[i];
}

void ExpectSums(const std::vector<double>& x, int64_t rows, int64_t k, Tier tier, bool squares, bool wide) {
  const Golden golden = GoldenRowSums(x, rows, k, tier, squares, 0, wide);
  for (int64_t r = 0; r < rows; ++r) {
    test::ReferenceSum sum;
    for (int64_t i = 0; i < k; ++i) sum.AddProduct(x[r * k + i], squares ? x[r * k + i] : 1);
    EXPECT_LE(sum.ErrorOf(golden.value[r], Lo(golden, r)), golden.error[r]);
    EXPECT_GE(golden.magnitude[r], sum.Magnitude());
    EXPECT_LE(golden.magnitude[r], sum.Magnitude() * (1 + 1e-3) + (wide ? k * 0x1p-1072 : 0x1p-147));
    EXPECT_GE(golden.sigma[r] * (1 + 1e-6), wide || std::fabs(golden.value[r]) > 0x1p-120
                                                ? kRoundingDeviation * std::fabs(golden.value[r]) * (1 - 1e-12)
                                                : 0);
  }
}

TEST(RowSums, WithinTheirOwnErrorForEveryTypeAndFill) {
  for (const DType dtype :
       {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kE4M3, DType::kE5M2, DType::kI8}) {
    for (const std::string fill : {"normal", "uniform", "lognormal", "cancel-1e6", "ramp", "subnormal", "pow2"}) {
      for (const int64_t k : {1, 63, 64, 65, 130, 1000}) {
        SCOPED_TRACE(fill + " " + std::string(Name(dtype)) + " " + std::to_string(k));
        const std::vector<double> x = Data(dtype, 5, k, fill);
        for (const bool squares : {false, true}) {
          ExpectSums(x, 5, k, Tier::kReproducible, squares, dtype == DType::kF64);
          ExpectSums(x, 5, k, Tier::kFast, squares, dtype == DType::kF64);
        }
      }
    }
  }
}

TEST(RowSums, NonFiniteTermsFollowIeee) {
  const std::vector<double> x = {1, kInf, 2, 1, -kInf, kInf, kNaN, 1, 1};
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    const Golden golden = GoldenRowSums(x, 3, 3, tier, false, 0, false);
    EXPECT_EQ(golden.value[0], kInf);
    EXPECT_TRUE(std::isnan(golden.value[1]));
    EXPECT_TRUE(std::isnan(golden.value[2]));
    EXPECT_FLOAT_EQ(golden.magnitude[0], 3);
  }
}

TEST(RowSums, SubnormalMass) {
  const Golden golden =
      GoldenRowSums(std::vector<double>{1, 0x1p-130, 0, -0x1p-131}, 1, 4, Tier::kFast, false, 0x1p-126, false);
  ASSERT_NE(golden.Extra("subnormal_mass"), nullptr);
  EXPECT_GE((*golden.Extra("subnormal_mass"))[0], 0x1.8p-130);
  EXPECT_EQ(GoldenRowSums(std::vector<double>{1, 2}, 1, 2, Tier::kFast, false, 0x1p-126, false).extra.size(), 0U);
}

TEST(RowProducts, AgreeWithMpfr) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16}) {
    const int64_t k = 777;
    const std::vector<double> x = Data(dtype, 20, k, "near_one");
    const Golden golden = GoldenRowProducts(x, 20, k, true);
    for (int64_t r = 0; r < 20; ++r) {
      Mpfr product;
      mpfr_set_d(product.x, 1, MPFR_RNDN);
      double up = 0, down = 0;
      for (int64_t i = 0; i < k; ++i) {
        const double v = x[r * k + i];
        mpfr_mul_d(product.x, product.x, v, MPFR_RNDN);
        std::fabs(v) > 1 ? up += std::log2(std::fabs(v)) : down += std::log2(std::fabs(v));
      }
      EXPECT_LE(product.DistanceFrom(golden.value[r], golden.value_lo[r]), golden.error[r]);
      EXPECT_LT(golden.error[r], std::fabs(golden.value[r]) * 0x1p-90 + 0x1p-1070);
      EXPECT_NEAR((*golden.Extra("log2_up"))[r], up, 1e-9);
      EXPECT_NEAR((*golden.Extra("log2_down"))[r], down, 1e-9);
    }
  }
}

TEST(RowProducts, OrderCannotOverflow) {
  const Golden golden = GoldenRowProducts(std::vector<double>{1e300, 1e300, 1e-300, 1e-300, 3}, 1, 5, true);
  EXPECT_NEAR(golden.value[0], 3, 1e-13);
  const Golden special = GoldenRowProducts(std::vector<double>{-2, 0, kInf, -2, 0, kInf, -2, kInf, 1}, 3, 3, true);
  EXPECT_TRUE(std::isnan(special.value[0]));
  EXPECT_TRUE(std::isnan(special.value[1]));
  EXPECT_EQ(special.value[2], -kInf);
}

void ReferenceLse(const double* x, int64_t k, Mpfr& result) {
  Mpfr term;
  for (int64_t i = 0; i < k; ++i) {
    mpfr_set_d(term.x, x[i], MPFR_RNDN);
    mpfr_exp(term.x, term.x, MPFR_RNDN);
    mpfr_add(result.x, result.x, term.x, MPFR_RNDN);
  }
  mpfr_log(result.x, result.x, MPFR_RNDN);
}

TEST(RowLogSumExp, AgreesWithMpfr) {
  for (const std::string fill : {"normal", "lognormal", "outlier", "uniform"}) {
    for (const int64_t k : {1, 2, 65, 500}) {
      const std::vector<double> x = Data(DType::kF64, 8, k, fill);
      for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
        SCOPED_TRACE(fill + " " + std::to_string(k));
        const Golden golden = GoldenRowLogSumExp(x, 8, k, tier, true);
        for (int64_t r = 0; r < 8; ++r) {
          Mpfr reference;
          ReferenceLse(&x[r * k], k, reference);
          EXPECT_LE(reference.DistanceFrom(golden.value[r], Lo(golden, r)), golden.error[r]);
          const double scale = 1 + std::fabs(golden.value[r]) + (*golden.Extra("spread"))[r];
          EXPECT_LT(golden.error[r], scale * (tier == Tier::kFast ? 1e-13 : 0x1p-88));
        }
      }
    }
  }
}

// ln(1 + rest) of a rest that 1 + rest does not hold.
TEST(RowLogSumExp, KeepsItsDigitsNearZero) {
  for (const double below : {-1.0, -30.0, -40.0, -80.0, -600.0}) {
    for (const std::vector<double>& x : {std::vector{0.0, below}, std::vector{below, 0.0, -0x1p60}}) {
      for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
        SCOPED_TRACE(std::to_string(below) + " " + std::string(Name(tier)));
        const Golden golden = GoldenRowLogSumExp(x, 1, std::ssize(x), tier, true);
        Mpfr reference, rest;
        mpfr_set_d(rest.x, below, MPFR_RNDN);
        mpfr_exp(rest.x, rest.x, MPFR_RNDN);
        mpfr_log1p(reference.x, rest.x, MPFR_RNDN);
        const double error = reference.DistanceFrom(golden.value[0], Lo(golden, 0));
        EXPECT_LE(error, golden.error[0]);
        EXPECT_LE(golden.error[0], reference.Rounded() * (tier == Tier::kFast ? 1e-12 : 0x1p-88) + 0x1p-1000);
      }
    }
  }
}

TEST(RowLogSumExp, Infinities) {
  const std::vector<double> x = {-kInf, -kInf, kInf, 1, kNaN, kInf, -kInf, 2};
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    const Golden golden = GoldenRowLogSumExp(x, 4, 2, tier, true);
    EXPECT_EQ(golden.value[0], -kInf);
    EXPECT_EQ(golden.value[1], kInf);
    EXPECT_TRUE(std::isnan(golden.value[2]));
    EXPECT_EQ(golden.value[3], 2);
  }
}

// A term is rescaled for each larger one, equal ones once; zeros and what is no number count nothing.
TEST(SumOfRanks, CountsLargerTermsOnce) {
  const auto ranks = [](const std::vector<double>& terms) { return SumOfRanks(terms); };
  EXPECT_EQ(ranks({}), 0);
  EXPECT_EQ(ranks({1, 1, 1}), 0);
  EXPECT_EQ(ranks({1, 2, 4}), 2 * 1 + 1 * 2);
  EXPECT_EQ(ranks({4, 0.5, 2, 4, 0.5}), 1 * 2 + 2 * 0.5 + 2 * 0.5);
  EXPECT_EQ(ranks({3, 0, std::nan(""), HUGE_VAL, 1}), 1);
}

}  // namespace
}  // namespace assay
