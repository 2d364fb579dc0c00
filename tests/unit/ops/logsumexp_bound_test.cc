// SPDX-License-Identifier: Apache-2.0
// logsumexp's bound against legal ways to compute it: two passes or online by blocks, functions as bad as declared.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/core/data/infinity.h"
#include "ops/reduce/reduce.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/functions.h"

namespace assay::test {
namespace {

// One row, `block` terms at a time, each block rescaling the sum of those before it; 0: the maximum first.
double RunRow(std::vector<double> x, DType type, const Contract& contract, Bias bias, int64_t block) {
  const FunctionUnit f(contract, bias, 1);
  for (double& value : x) value = f.unit.Operand(type, value);
  const auto n = std::ssize(x);
  const auto exponential = [&](double value, double m) {
    return Narrowed(contract, f.Exp(Narrowed(contract, f.unit.Add(value, -m))));
  };
  double max = -kInfinity, total = 0;
  for (int64_t begin = 0; begin < n; begin += block == 0 ? n : block) {
    const int64_t end = block == 0 ? n : std::min(n, begin + block);
    const double m = std::max(max, *std::max_element(x.begin() + begin, x.begin() + end));
    if (!std::isfinite(m)) continue;
    if (max > -kInfinity) total = f.unit.Mul(total, f.Exp(f.unit.Add(max, -m)));
    for (int64_t i = begin; i < end; ++i) total = f.unit.Add(total, exponential(x[i], m));
    max = m;
  }
  return f.unit.Out(type, f.unit.Add(max, Narrowed(contract, f.Log(total))));
}

// Every form of one row; the largest |error| / bound.
double WorstOf(const Problem& problem, const Golden& golden, const DeclaredBound& bound, const Contract& contract,
               const std::vector<double>& x, int64_t row) {
  double worst = 0;
  for (Bias bias : kBiases) {
    for (int64_t block : {0, 1, 7, 64}) {
      const double got = RunRow(x, problem.inputs[0].dtype, contract, bias, block);
      EXPECT_TRUE(Accepts(bound, golden, row, got))
          << "block " << block << " bias " << static_cast<int>(bias) << ": " << got << " for " << golden.value[row];
      const double limit = bound.LargestToleranceAt(golden, row);
      if (std::isfinite(got)) worst = std::max(worst, std::abs(got - golden.value[row]) / limit);
    }
  }
  return worst;
}

TEST(LogSumExpBound, HoldsForEveryFormFillAndType) {
  double worst = 0;
  uint64_t seed = 0;
  for (const auto& [dtype, declaration] : {std::pair{"f64", "acc=f64;math=1"},
                                           {"f32", "acc=f32;math=2"},
                                           {"f32", "acc=f32;ftz=all;math=4"},
                                           {"f32", "acc=f32;mid=bf16;math=1"},
                                           {"f16", "acc=f16;math=2"},
                                           {"f16", "acc=f16;ftz=all;math=2"},
                                           {"bf16", "acc=bf16;math=1"}}) {
    for (const char* fill : {"uniform", "normal", "lognormal", "outlier", "subnormal"}) {
      for (int64_t terms : {1, 2, 37, 130}) {
        const Problem problem =
            Bind(fmt::format("reduce/{}/shape=4x{},axes=1,kind=logsumexp/fill={}/seed={}", dtype, terms, fill, ++seed));
        SCOPED_TRACE(problem.spec.Id() + " " + declaration);
        const Contract contract = Declared(declaration);
        const std::vector<Tensor> inputs = Op("reduce").MakeInputs(problem);
        const Golden golden = Op("reduce").ComputeGolden(problem, 0, inputs, Tier::kReproducible);
        const DeclaredBound bound = BoundOf(problem, golden, contract);
        for (int64_t row = 0; row < 4; ++row) {
          worst =
              std::max(worst, WorstOf(problem, golden, bound, contract, ReduceArgs(problem).Row(inputs[0], row), row));
        }
      }
    }
  }
  EXPECT_GT(worst, 0.3);
}

// A of an implementation that never rescales: what additions and functions may cost.
double WithoutRescalings(const Golden& golden, const Contract& contract, double n) {
  const double u = 2 * contract.AccUnitRoundoff(), eps = contract.math_ulp * u, sum = Gamma(n, u) + eps;
  const double y = std::abs(golden.value[0]);
  return sum / (1 - sum) + 2 * u * (*golden.Extra("spread"))[0] + eps * (*golden.Extra("log_part"))[0] + 2 * u * y;
}

struct LogsumexpRow {
  const char* name;
  double math;
  double (*term)(int64_t k, int64_t n);
};

// Blocks of one term, every exponential off by as much as is permitted, always to the same side. Only a new maximum
// rescales: nothing does where the first term is the largest one.
TEST(LogSumExpBound, CountsTheRescalingsOfAnOnlineSum) {
  constexpr int64_t kTerms = 4096;
  for (const LogsumexpRow& row :
       {LogsumexpRow{"a new maximum with each term", 8, [](int64_t k, int64_t n) { return std::ldexp(k - n, -13); }},
        LogsumexpRow{"equal terms", 4, [](int64_t, int64_t) { return 1.0; }},
        LogsumexpRow{"few of weight", 4,
                     [](int64_t k, int64_t) { return k % 64 == 0 ? -0.001 * k : -20.0 - 0.001 * k; }}}) {
    SCOPED_TRACE(row.name);
    const Problem problem = Bind(fmt::format("reduce/f32/shape=1x{},axes=1,kind=logsumexp/fill=normal/seed=0", kTerms));
    const Contract contract = Declared(fmt::format("acc=f32;math={}", row.math));
    std::vector<double> x(kTerms);
    for (int64_t k = 0; k < kTerms; ++k) x[k] = row.term(k, kTerms);
    std::vector<Tensor> inputs;
    inputs.emplace_back(DType::kF32, Shape{1, kTerms});
    inputs[0].SetDoubles(x);
    const Golden golden = Op("reduce").ComputeGolden(problem, 0, inputs, Tier::kReproducible);
    const DeclaredBound bound = BoundOf(problem, golden, contract);
    const bool rises = row.math == 8;
    for (Bias bias : {Bias::kUp, Bias::kDown}) {
      const double got = RunRow(x, DType::kF32, contract, bias, 1), error = std::abs(got - golden.value[0]);
      EXPECT_EQ(error > WithoutRescalings(golden, contract, kTerms), rises) << got;
      EXPECT_TRUE(Accepts(bound, golden, 0, got)) << got << " for " << golden.value[0];
    }
    if (!rises) {
      EXPECT_LT(bound.At(golden, 0), 1.2 * WithoutRescalings(golden, contract, kTerms));
    }
  }
}

// Twins whose exponentials may be off: right in every form, and wrong where a term is missing.
TEST(LogSumExpTwin, LegalFormsPassAndAMissingTermDoesNot) {
  int seen = 0;
  for (const char* declaration : {"acc=f32;math=1", "acc=f32;math=2", "acc=f32;math=4"}) {
    for (int64_t terms : {2, 64, 300, 1001}) {
      const Problem problem =
          Bind(fmt::format("reduce/f32/shape=2x{},axes=1,kind=logsumexp/fill=normal/seed=0", terms));
      SCOPED_TRACE(problem.spec.Id() + " " + declaration);
      const Contract contract = Declared(declaration);
      for (const Twin& twin : TwinsOf(problem, declaration)) {
        for (int64_t row = 0; row < 2; ++row) {
          std::vector<double> x = ReduceArgs(problem).Row(twin.inputs[0], row);
          for (Bias bias : kBiases) {
            for (int64_t block : {0, 1, 7}) {
              EXPECT_TRUE(Accepts(twin, DType::kF32, row, RunRow(x, DType::kF32, contract, bias, block)));
            }
          }
          *std::ranges::find_if(x, [](double value) { return std::isfinite(value); }) = -kInfinity;
          const double without = RunRow(x, DType::kF32, contract, Bias::kNone, 0);
          EXPECT_FALSE(Accepts(twin, DType::kF32, row, without));
          ++seen;
        }
      }
    }
  }
  EXPECT_GE(seen, 24);
}

// A library returned a bf16 number 0.915 ulp off, which is the rounding of nothing near. u |y| would have permitted it:
// below a power of two that is almost an ulp.
TEST(LogSumExpBound, ANeighbourAlmostAnUlpOffIsNoRounding) {
  const Problem problem = Bind("reduce/bf16/shape=256x1024,axes=1,kind=logsumexp/fill=normal/seed=0");
  const Golden golden = Op("reduce").ComputeGolden(problem, 0, Op("reduce").MakeInputs(problem), Tier::kFast);
  const DeclaredBound bound = BoundOf(problem, golden, "f32acc;math=2");
  const FloatFormat& format = FormatOf(DType::kBF16);
  int within_u = 0;
  for (int64_t row = 0; row < golden.size(); ++row) {
    const double y = golden.value[row], right = RoundTo(format, y), ulp = UlpAt(format, y);
    const double other = right + std::copysign(ulp, y - right), error = std::abs(other - y);
    EXPECT_TRUE(Accepts(bound, golden, row, right));
    if (error > 0.55 * ulp) {
      EXPECT_FALSE(Accepts(bound, golden, row, other)) << error / ulp;
    }
    if (error > 0.9 * ulp && error < format.UnitRoundoff() * y) ++within_u;
  }
  EXPECT_GT(within_u, 0);
}

}  // namespace
}  // namespace assay::test
