// SPDX-License-Identifier: Apache-2.0
// gelu where x is far below zero: golden values against MPFR by the definition, and what a contract grants there.
#include <cmath>
#include <vector>

#include "ops/binding.h"
#include "tests/support/formula/exact.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

// x Phi(x), or its approximation by tanh as x / (1 + exp(-2 u)), from constants of 400 bits.
Real ExactGelu(double x, bool by_tanh) {
  Real z = x;
  if (by_tanh) {
    Real pi;
    mpfr_const_pi(pi.x, MPFR_RNDN);
    Real cubic;
    mpfr_set_str(cubic.x, "0.044715", 10, MPFR_RNDN);
    mpfr_mul_d(cubic.x, cubic.x, x, MPFR_RNDN), mpfr_mul_d(cubic.x, cubic.x, x, MPFR_RNDN);
    mpfr_mul_d(cubic.x, cubic.x, x, MPFR_RNDN), mpfr_add_d(cubic.x, cubic.x, x, MPFR_RNDN);
    mpfr_ui_div(pi.x, 8, pi.x, MPFR_RNDN), mpfr_sqrt(pi.x, pi.x, MPFR_RNDN);
    mpfr_mul(z.x, cubic.x, pi.x, MPFR_RNDN), mpfr_neg(z.x, z.x, MPFR_RNDN);
    mpfr_exp(z.x, z.x, MPFR_RNDN), mpfr_add_ui(z.x, z.x, 1, MPFR_RNDN);
    mpfr_d_div(z.x, x, z.x, MPFR_RNDN);
    return z;
  }
  Real root = 2;
  mpfr_sqrt(root.x, root.x, MPFR_RNDN);
  mpfr_div(z.x, z.x, root.x, MPFR_RNDN), mpfr_neg(z.x, z.x, MPFR_RNDN);
  mpfr_erfc(z.x, z.x, MPFR_RNDN), mpfr_mul_d(z.x, z.x, x / 2, MPFR_RNDN);
  return z;
}

struct GeluCase {
  GeluCase(const char* type, bool by_tanh, const std::vector<double>& x, Tier tier)
      : problem(Bind(std::string("gelu/") + type + "/n=" + std::to_string(x.size()) + (by_tanh ? ",approx=tanh" : "") +
                     "/fill=normal/seed=0")) {
    Tensor tensor(problem.inputs[0].dtype, problem.inputs[0].shape);
    tensor.SetDoubles(x);
    golden = Op("gelu").ComputeGolden(problem, 0, {&tensor, 1}, tier);
  }
  Problem problem;
  Golden golden;
};

std::vector<double> Grid(double from, double to, int count) {
  std::vector<double> x;
  for (int i = 0; i < count; ++i) x.push_back(static_cast<float>(from + (to - from) * i / (count - 1)));
  return x;
}

TEST(Gelu, GoldenValuesKeepTheirDigitsInTheTail) {
  std::vector<double> x = Grid(-36, 8, 441);
  x.insert(x.end(), {-12.0, -11.8, -11.8125, -4.5, -1e-300, 1e-5});
  for (const bool by_tanh : {false, true}) {
    for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
      const GeluCase c("f64", by_tanh, x, tier);
      for (size_t i = 0; i < x.size(); ++i) {
        const Real exact = ExactGelu(x[i], by_tanh);
        const double size = std::fabs(exact.Rounded());
        if (size < 1e-290) continue;
        const double distance =
            exact.DistanceFrom(c.golden.value[i], c.golden.value_lo.empty() ? 0 : c.golden.value_lo[i]);
        EXPECT_LE(distance, c.golden.error[static_cast<int64_t>(i)]) << x[i] << by_tanh;
        EXPECT_LE(distance, size * (tier == Tier::kFast ? 1e-12 : 1e-27)) << x[i] << by_tanh;
      }
    }
  }
}

TEST(Gelu, OfMinusTwelveIsNotZero) {
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    const GeluCase c("f32", false, {-12}, tier);
    EXPECT_NEAR(c.golden.value[0], -2.1317787e-32, 1e-38);
  }
}

// f32 kernels with functions of the C library: by the sum, and by the tail.
double BySum(double x, bool by_tanh) {
  const auto v = static_cast<float>(x);
  const float inner = 0.79788456F * (v + 0.044715F * (v * v * v));
  return 0.5F * v * (1 + (by_tanh ? std::tanh(inner) : std::erf(v * 0.70710678F)));
}
double ByTail(double x, bool by_tanh) {
  const auto v = static_cast<float>(x);
  const float inner = 1.5957691F * (v + 0.044715F * (v * v * v));
  return by_tanh ? v / (1 + std::exp(-inner)) : 0.5F * v * std::erfc(v * -0.70710678F);
}

TEST(Gelu, EveryWayOfComputingItIsRight) {
  const std::vector<double> x = Grid(-14, 6, 4001);
  for (const bool by_tanh : {false, true}) {
    const GeluCase c("f32", by_tanh, x, Tier::kFast);
    for (const char* contract : {"f32;math=4", "f32;math=16", "f32;math=256"}) {
      const DeclaredBound bound = BoundOf(c.problem, c.golden, contract);
      for (size_t i = 0; i < x.size(); ++i) {
        const auto at = static_cast<int64_t>(i);
        EXPECT_TRUE(Accepts(bound, c.golden, at, BySum(x[i], by_tanh))) << x[i] << contract << by_tanh;
        EXPECT_TRUE(Accepts(bound, c.golden, at, ByTail(x[i], by_tanh))) << x[i] << contract << by_tanh;
      }
    }
  }
}

// The ulp of math= are those of Phi; a sum that leaves a millionth has not the right to 256 ulp of 1.
TEST(Gelu, WhatAContractGrantsAFunctionIsNotTwiceTheResult) {
  for (const bool by_tanh : {false, true}) {
    const std::vector<double> x = {by_tanh ? -4.25 : -4.5, -4, -3, -1};
    const GeluCase c("f32", by_tanh, x, Tier::kFast);
    const DeclaredBound bound = BoundOf(c.problem, c.golden, "f32;math=256");
    const double granted = JudgeBy(bound, c.golden).Accumulated(0) / std::fabs(c.golden.value[0]);
    if (!by_tanh) {
      EXPECT_NEAR(granted, 0.32, 0.005) << "the figure of ops/formula/README.md";
    }
    for (int64_t i = 0; i < 4; ++i) {
      const double y = c.golden.value[static_cast<size_t>(i)];
      const auto accepts = [&](double got) { return Accepts(bound, c.golden, i, static_cast<float>(got)); };
      EXPECT_FALSE(accepts(2 * y)) << x[static_cast<size_t>(i)] << by_tanh;
      EXPECT_FALSE(accepts(0)) << x[static_cast<size_t>(i)] << by_tanh;
      for (const double off : {-250 * 0x1p-24, 250 * 0x1p-24}) EXPECT_TRUE(accepts(y * (1 + off)));
    }
  }
}

}  // namespace
}  // namespace assay::test
