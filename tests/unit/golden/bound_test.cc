// SPDX-License-Identifier: Apache-2.0
#include "golden/bound/bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "golden/gemm/gemm.h"
#include "tests/unit/special_values.h"

namespace assay {
namespace {

Contract Declared(const std::string& text) {
  return ParseDeclaration(text).value();
}

Tensor Column(DType dtype, std::vector<double> values) {
  Tensor t(dtype, {static_cast<int64_t>(values.size()), 1});
  t.SetDoubles(values);
  return t;
}

Golden OneSum(double magnitude) {
  Golden golden{.shape = {1}};
  golden.value = {1};
  golden.magnitude = golden.error = Plane(1, true);
  golden.magnitude.Set(0, magnitude);
  return golden;
}

double Coefficient(const std::string& contract, const SumBoundSpec& spec = {.terms = 16, .height = 16}) {
  const Golden golden = OneSum(1);
  return SumBound(golden, Declared(contract), DType::kF32, spec).terms.at(0).coefficient;
}

TEST(Bound, Gamma) {
  EXPECT_DOUBLE_EQ(Gamma(2, 0.25), 1);
  EXPECT_EQ(Gamma(4, 0.25), kInf);
}

TEST(Bound, TermsOfTheFormula) {
  const double gamma = Gamma(16, 0x1p-23);
  EXPECT_NEAR(Coefficient("acc=f32") / gamma, 1, 1e-12);
  const double u = 0x1p-8;
  EXPECT_NEAR(Coefficient("in=bf16;acc=f32") / ((2 * u + u * u + gamma) * (1 + u) * (1 + u)), 1, 1e-12);
  EXPECT_NEAR(Coefficient("in=tf32rz;acc=f32") / ((0x1p-9 + 0x1p-20 + gamma) * std::pow(1 + 0x1p-10, 2)), 1, 1e-12);
  EXPECT_NEAR(Coefficient("in=bf16x3;acc=f32") / ((3 * 0x1p-16 + gamma) * std::pow(1 + 0x1p-16, 2)), 1, 1e-12);
  EXPECT_NEAR(Coefficient("acc=tc<13,4>") / (Gamma(16, 0x1p-12) + 4 * 0x1p-23), 1, 1e-12);
  EXPECT_NEAR(Coefficient("acc=tc<25,4>") / (Gamma(16, 0x1p-22) + 4 * 0x1p-23), 1, 1e-12);
  EXPECT_NEAR(Coefficient("acc=f32;mid=f16") / (gamma + 0x1p-11 * (1 + gamma)), 1, 1e-12);
}

TEST(Bound, InputRoundingIsFreeWhereItIsExact) {
  SumBoundSpec spec{.terms = 16, .height = 16};
  spec.type_a = spec.type_b = DType::kF16;
  EXPECT_EQ(Coefficient("in=tf32rn;acc=f32", spec), Coefficient("acc=f32", spec));
  EXPECT_GT(Coefficient("in=bf16;acc=f32", spec), Coefficient("acc=f32", spec));
  spec.type_a = spec.type_b = DType::kBF16;
  EXPECT_EQ(Coefficient("in=bf16x3;acc=f32", spec), Coefficient("acc=f32", spec));
  spec.type_a = spec.type_b = DType::kE5M2;
  EXPECT_EQ(Coefficient("in=fp8;acc=f32", spec), Coefficient("acc=f32", spec));
}

// 256 bf16 additions may each be off by a factor 1 + 2^-7: no gamma, but not infinitely wrong.
TEST(Bound, NarrowAccumulatorsAndLongSumsPromiseLittle) {
  const Golden golden = OneSum(1);
  const BoundModel bound = SumBound(golden, Declared("acc=bf16"), DType::kF32, {.terms = 256, .height = 256});
  const double growth = std::pow(1 - 0x1p-7, -256);
  EXPECT_NEAR(bound.LargestToleranceAt(golden, 0), growth - 1, 1e-5);
  EXPECT_EQ(SumError(16, 0x1p-23), Gamma(16, 0x1p-23));
  EXPECT_EQ(SumError(1, 1), kInf);
}

TEST(Bound, Underflow) {
  const Golden golden = OneSum(0);
  const auto constant = [&](const char* contract, const SumBoundSpec& spec = {.terms = 2, .height = 2}) {
    return SumBound(golden, Declared(contract), DType::kF32, spec).constant;
  };
  EXPECT_NEAR(constant("acc=f32") / (2 * 0x1p-150), 1, 1e-6) << "two products; sums that underflow are exact";
  EXPECT_NEAR(constant("acc=f32;ftz=all") / (5 * 0x1p-126), 1, 1e-6);
  EXPECT_NEAR(constant("acc=f16") / (2 * 0x1p-25), 1, 1e-2);
  EXPECT_NEAR(constant("acc=tc<25,4>") / (5 * 0x1p-149), 1, 1e-6);
  SumBoundSpec sum{.terms = 2, .height = 1, .products = false};
  sum.type_a = DType::kF16;
  EXPECT_EQ(constant("acc=f32", sum), 0);
  EXPECT_EQ(constant("acc=f16", sum), 0);
  sum.type_a = DType::kF32;
  EXPECT_NEAR(constant("acc=f16", sum) / (2 * 0x1p-25), 1, 1e-2) << "f32 terms are no multiples of 2^-24";
  EXPECT_EQ(OutputBound(Declared("acc=f32"), DType::kF16).lambda_out, 0x1p-25);
  EXPECT_EQ(OutputBound(Declared("acc=f32;out=rz"), DType::kF16).lambda_out, 0x1p-24);
  EXPECT_EQ(OutputBound(Declared("acc=f32;ftz=out"), DType::kF16).lambda_out, 0x1p-14);
  EXPECT_EQ(OutputBound(Declared("acc=f32;ftz=in"), DType::kF16).lambda_out, 0x1p-25);
}

TEST(Bound, UnderflowOfAdditions) {
  EXPECT_EQ(AdditionUnderflow(Declared("acc=f32"), DType::kF32), 0);
  EXPECT_EQ(AdditionUnderflow(Declared("acc=f32"), DType::kBF16), 0);
  EXPECT_EQ(AdditionUnderflow(Declared("acc=f32"), DType::kF64), 0x1p-150);
  EXPECT_EQ(AdditionUnderflow(Declared("acc=f16"), DType::kBF16), 0x1p-25);
  EXPECT_EQ(AdditionUnderflow(Declared("acc=f32;ftz=out"), DType::kF32), 0x1p-125);
}

TEST(Bound, Overflow) {
  const Golden golden = OneSum(1);
  const BoundModel bound = SumBound(golden, Declared("acc=f16"), DType::kF16, {.terms = 4, .height = 4});
  EXPECT_EQ(bound.overflow_at, 65520);
  EXPECT_EQ(bound.partial_overflow_at, 65504);
  EXPECT_EQ(SumBound(golden, Declared("acc=f32;mid=f16"), DType::kF32, {}).partial_overflow_at, 65504);
  EXPECT_EQ(OutputBound(Declared("acc=f64"), DType::kF64).overflow_at, kInf);
}

TEST(Bound, IntegersAreExact) {
  const Golden product =
      GoldenGemm({.k = 2}, Column(DType::kI8, {3, 4}), Column(DType::kI8, {5, 6}), Tier::kFast, false);
  EXPECT_TRUE(SumBound(product, Declared("acc=i32"), DType::kI32, {}).exact);
}

TEST(Bound, SubnormalMassCountsOnlyWhereInputsAreFlushedOrNarrowed) {
  const Tensor a = Column(DType::kF32, {0x1p-130, 1}), b = Column(DType::kF32, {0x1p20, 1});
  const Golden golden = GoldenGemm({.k = 2}, a, b, Tier::kFast, false);
  const auto at = [&](const char* contract) {
    const Contract c = Declared(contract);
    const BoundModel bound = SumBound(golden, c, DType::kF32, {.terms = 2, .height = 2});
    double mass = 0;
    for (const BoundTerm& term : bound.terms)
      mass += term.plane == golden.Extra("subnormal_mass") ? term.coefficient : 0;
    return mass;
  };
  EXPECT_EQ(at("acc=f32"), 0);
  EXPECT_EQ(at("acc=f32;ftz=out"), 0);
  EXPECT_EQ(at("acc=f32;ftz=in"), 1);
  EXPECT_EQ(at("in=bf16;acc=f32"), 3);
}

}  // namespace
}  // namespace assay
