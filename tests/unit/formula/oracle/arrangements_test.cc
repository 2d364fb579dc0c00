// SPDX-License-Identifier: Apache-2.0
// Kernels that distribute a factor, on data with NaN, infinities and the largest numbers: what they cannot know is not
// promised, and nothing else is given up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/formula/rules.h"
#include "ops/formula_operator/formula_operator.h"
#include "ops/formula_operator/reach.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

constexpr const char* kContract = "f32acc;math=4";

// One output of a case of f32.
struct OutputCase {
  OutputCase(const std::string& id, size_t number)
      : problem(Bind(id)),
        output(number),
        op(dynamic_cast<const FormulaOperator&>(Op(problem.spec.op))),
        inputs(op.MakeInputs(problem)),
        golden(op.ComputeGolden(problem, output, inputs, Tier::kFast)),
        bound(BoundOf(problem, golden, kContract, output)) {}
  std::span<const float> Input(size_t i) const { return inputs[i].As<float>(); }
  bool Takes(int64_t i, double got) const { return Accepts(bound, golden, i, got); }
  int64_t CountRejected(const std::vector<float>& y) const {
    int64_t rejected = 0;
    for (size_t i = 0; i < y.size(); ++i) rejected += Takes(static_cast<int64_t>(i), y[i]) ? 0 : 1;
    return rejected;
  }
  // Elements whose bound is infinite because of other arrangements alone.
  std::vector<bool> OpenForArrangements() const {
    const formula::Definition definition = op.DefinitionOf(problem, output);
    std::vector<formula::ErrorRules> rules(2, RulesFor(problem, output, Declared(kContract), false));
    rules[0].rearranges = false;
    const formula::Evaluation got = formula::Evaluate(definition.graph(), definition.graph().outputs[0],
                                                      KeptInputs(golden, inputs.size()), false, rules);
    std::vector<bool> open;
    for (size_t i = 0; i < got.value.size(); ++i) {
      open.push_back(got.reach[0][i] < HUGE_VAL && got.reach[1][i] == HUGE_VAL);
    }
    return open;
  }

  Problem problem;
  size_t output;
  const FormulaOperator& op;
  std::vector<Tensor> inputs;
  Golden golden;
  DeclaredBound bound;
};

struct Statistics {
  float mean = 0, rstd = 0;
};
Statistics StatisticsOf(std::span<const float> x, double eps) {
  float sum = 0, squares = 0;
  for (const float v : x) sum += v;
  Statistics row{.mean = sum / static_cast<float>(x.size())};
  for (const float v : x) squares += (v - row.mean) * (v - row.mean);
  row.rstd = 1 / std::sqrt(squares / static_cast<float>(x.size()) + static_cast<float>(eps));
  return row;
}

// y = x s + (beta - mean s), as GroupNorm of PyTorch has it.
std::vector<float> FusedNorm(const OutputCase& of, int64_t rows, int64_t n) {
  std::vector<float> y;
  for (int64_t r = 0; r < rows; ++r) {
    const auto x = of.Input(0).subspan(static_cast<size_t>(r * n), static_cast<size_t>(n));
    const Statistics row = StatisticsOf(x, 1e-5);
    for (size_t k = 0; k < x.size(); ++k) {
      const float scale = row.rstd * of.Input(1)[k], shift = of.Input(2)[k] - row.mean * scale;
      y.push_back(x[k] * scale + shift);
    }
  }
  return y;
}

// Results of a fused kernel are right. If an element has no bound, some distribution of the factor cannot compute it.
TEST(Arrangements, OfNormalisationsAreRightAndOpenNothingElse) {
  int64_t open = 0;
  for (const char* fill : {"edges", "special", "subnormal", "lognormal"}) {
    for (int seed = 0; seed < 8; ++seed) {
      const OutputCase of(fmt::format("layer_norm/f32/rows=7,n=33/fill={}/seed={}", fill, seed), 0);
      const std::vector<float> y = FusedNorm(of, 7, 33);
      EXPECT_EQ(of.CountRejected(y), 0) << of.problem.spec.Id();
      const std::vector<bool> is_open = of.OpenForArrangements();
      for (size_t i = 0; i < y.size(); ++i) {
        if (!is_open[i]) continue;
        ++open;
        const Statistics row = StatisticsOf(of.Input(0).subspan(i / 33 * 33, 33), 1e-5);
        const float gamma = of.Input(1)[i % 33], x = of.Input(0)[i], scale = row.rstd * gamma;
        const bool leaves = !std::isfinite(y[i]) || !std::isfinite(x * row.rstd * gamma) || !std::isfinite(x * gamma) ||
                            !std::isfinite(row.mean * gamma) || !std::isfinite(scale);
        EXPECT_TRUE(leaves) << of.problem.spec.Id() << " element " << i;
      }
    }
  }
  EXPECT_GT(open, 0);
}

TEST(Arrangements, OfTheCaseThatWasAFalseAlarm) {
  const OutputCase of("layer_norm/f32/rows=7,n=33,stats=1/fill=edges/seed=2", 0);
  EXPECT_EQ(of.CountRejected(FusedNorm(of, 7, 33)), 0);
}

// dx = rstd t + b x + c with b = (db mean - ds) rstd^3 / n and c = -b mean - db rstd / n, as PyTorch has it, and dgamma
// as the sum of dy (x rstd - mean rstd).
struct Gradients {
  std::vector<float> dx, dgamma;
};
Gradients FusedGradients(const OutputCase& of, int64_t rows, int64_t n) {
  Gradients all{std::vector<float>(static_cast<size_t>(rows * n)), std::vector<float>(static_cast<size_t>(n))};
  const auto count = static_cast<float>(n);
  for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
    const float mean = of.Input(2)[r], a = of.Input(3)[r];
    float ds = 0, db = 0;
    const auto at = [&](size_t k) { return r * static_cast<size_t>(n) + k; };
    const auto term = [&](size_t k) { return of.Input(0)[at(k)] * of.Input(4)[k]; };
    for (size_t k = 0; k < static_cast<size_t>(n); ++k) ds += term(k) * of.Input(1)[at(k)], db += term(k);
    const float b = (db * mean - ds) * a * a * a / count, c = -b * mean - db * a / count;
    for (size_t k = 0; k < static_cast<size_t>(n); ++k) {
      const float x = of.Input(1)[at(k)];
      all.dx[at(k)] = a * term(k) + b * x + c;
      all.dgamma[k] += of.Input(0)[at(k)] * (x * a - mean * a);
    }
  }
  return all;
}

TEST(Arrangements, OfGradientsAreRight) {
  constexpr int64_t kRows = 16, kColumns = 1100;  // of smaller cases the largest numbers are left out
  int64_t open = 0, left = 0;
  for (const char* fill : {"edges", "special"}) {
    for (int seed = 0; seed < 8; ++seed) {
      const std::string id =
          fmt::format("layer_norm_backward/f32/rows={},n={}/fill={}/seed={}", kRows, kColumns, fill, seed);
      const OutputCase dx(id, 0), dgamma(id, 1);
      const Gradients got = FusedGradients(dx, kRows, kColumns);
      EXPECT_EQ(dx.CountRejected(got.dx), 0) << id;
      EXPECT_EQ(dgamma.CountRejected(got.dgamma), 0) << id;
      const std::vector<bool> is_open = dx.OpenForArrangements();
      for (size_t i = 0; i < is_open.size(); ++i) {
        open += is_open[i] ? 1 : 0, left += is_open[i] && !std::isfinite(got.dx[i]) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(static_cast<double>(left), 0.9 * static_cast<double>(open))
      << "this kernel leaves the range in most of them";
  EXPECT_GT(open, 0);
}

// NaN that goes in is NaN in every arrangement: a kernel that is blind to it is at fault there.
TEST(Arrangements, LeaveNaNCertain) {
  const OutputCase of("layer_norm/f32/rows=7,n=33/fill=special/seed=1", 0);
  int64_t certain = 0;
  for (int64_t r = 0; r < 7; ++r) {
    const auto x = of.Input(0).subspan(static_cast<size_t>(33 * r), 33);
    if (std::ranges::none_of(x, [](float v) { return std::isnan(v); })) continue;
    for (int64_t k = 0; k < 33; ++k) certain += of.Takes(33 * r + k, 0.5) || of.Takes(33 * r + k, HUGE_VAL) ? 0 : 1;
  }
  EXPECT_GE(certain, 33);
}

// By whatever way the sigmoid is computed; where the other factor is NaN, it is NaN.
TEST(SiluAndMul, OfMinusInfinityIsNanZeroOrInfinite) {
  const Problem problem = Bind("silu_and_mul/f32/rows=1,n=3/fill=normal/seed=0");
  const Operator& op = Op("silu_and_mul");
  std::vector<Tensor> inputs = op.MakeInputs(problem);
  const std::span<float> x = inputs[0].As<float>();
  x[0] = x[1] = -HUGE_VALF, x[4] = std::nanf("");
  const Golden golden = op.ComputeGolden(problem, 0, inputs, Tier::kFast);
  const DeclaredBound bound = BoundOf(problem, golden, kContract);
  for (const double got : {std::nan(""), 0.0, -0.0, HUGE_VAL, -HUGE_VAL}) {
    EXPECT_TRUE(Accepts(bound, golden, 0, got)) << got;
    EXPECT_EQ(Accepts(bound, golden, 1, got), std::isnan(got)) << got;
  }
  for (const double got : {5.0, -1e-30, -3e38}) EXPECT_FALSE(Accepts(bound, golden, 0, got)) << got;
}

// No kernel is held to what a sum makes of NaN, where another number than NaN may go in.
TEST(Arrangements, BehindASumWhatMayBeNanIsAnyNumber) {
  const FormulaOperator op("gated_sum", [](formula::Definition& d) {
    d.SetDoc("y = x sigmoid(x) + 3");
    const formula::Axis n = d.Axis("n", "elements");
    const formula::Expr x = d.In("x", n);
    d.Out("y", x * Sigmoid(x) + 3.0, n);
  });
  const Problem problem = op.Bind(ParseId("gated_sum/f32/n=2/fill=normal/seed=0").value()).value();
  std::vector<Tensor> inputs = op.MakeInputs(problem);
  inputs[0].As<float>()[0] = -HUGE_VALF;
  const Golden golden = op.ComputeGolden(problem, 0, inputs, Tier::kFast);
  ASSERT_TRUE(std::isnan(golden.value[0]));
  const Contract contract = Declared(kContract);
  const DeclaredBound bound{op.Bound(problem, 0, golden, contract), contract, problem.outputs[0].dtype};
  for (const double got : {3.0, std::nan(""), -HUGE_VAL}) EXPECT_TRUE(Accepts(bound, golden, 0, got)) << got;
  EXPECT_FALSE(Accepts(bound, golden, 1, 3e30));
}

TEST(Gelu, OfMinusInfinityIsNanZeroOrInfinite) {
  int64_t count = 0;
  for (const char* id : {"gelu/f32/n=400/fill=special/seed=0", "gelu/f32/n=400,approx=tanh/fill=special/seed=0"}) {
    const OutputCase of(id, 0);
    for (int64_t i = 0; i < 400; ++i) {
      if (of.Input(0)[static_cast<size_t>(i)] != -HUGE_VALF) continue;
      ++count;
      for (const double got : {std::nan(""), 0.0, -0.0, -HUGE_VAL}) EXPECT_TRUE(of.Takes(i, got)) << id << " " << got;
      for (const double got : {5.0, -1e-30, -3e38}) EXPECT_FALSE(of.Takes(i, got)) << id << " " << got;
    }
  }
  EXPECT_GE(count, 2);
}

}  // namespace
}  // namespace assay::test
