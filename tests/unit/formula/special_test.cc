// SPDX-License-Identifier: Apache-2.0
// Data that leave the ordinary: NaN, infinities, zeros, subnormal and huge numbers. Wherever a reach is stated, correct
// implementations keep it; it is stated wherever they agree.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/core/data/fill/rng.h"
#include "ops/formula/evaluate.h"
#include "ops/formula/rules.h"
#include "tests/support/formula/examples.h"
#include "tests/support/formula/simulate.h"

namespace assay::formula {
namespace {

using test::AllExamples;
using test::Example;

// One element in `rarity` is special.
void MakeSpecial(std::vector<std::vector<double>>& inputs, const FloatFormat& format, uint64_t rarity, uint64_t seed) {
  const double inf = std::numeric_limits<double>::infinity();
  const double special[] = {inf,
                            -inf,
                            std::nan(""),
                            0,
                            -0.0,
                            format.MinSubnormal(),
                            -format.MinNormal() / 2,
                            format.max_finite,
                            -format.max_finite / 2,
                            std::sqrt(format.max_finite),
                            100,
                            -100};
  const RandomStream random(seed, 21);
  uint64_t draw = 0;
  for (std::vector<double>& input : inputs) {
    for (double& x : input) {
      const bool chosen = random.Below(draw++, rarity) == 0;
      const double value = RoundTo(format, special[random.Below(draw++, std::size(special))]);
      if (chosen) x = value;
    }
  }
}

// Whether y is right beside the value v; `range`: of the accumulator.
bool IsRight(double y, double v, double reach, double range) {
  if (reach == HUGE_VAL) return true;
  if (std::isnan(v)) return std::isnan(y);
  if (std::isinf(v)) return y == v;
  if (std::isfinite(y)) return std::fabs(y - v) <= reach;
  return std::isinf(y) && (y > 0 ? v : -v) + reach >= range;
}

struct Counts {
  int64_t stated = 0, open = 0, wrong = 0, alike_but_open = 0;
};

void Judge(const Example& example, const Contract& contract, DType type, uint64_t seed, Counts& counts) {
  Graph graph;
  example.build(graph, 2, 9);
  std::vector<std::vector<double>> inputs = test::ExampleInputs(graph, example, type, seed);
  MakeSpecial(inputs, FormatOf(type), 12, seed);
  const std::vector<DType> types(inputs.size(), type);
  const ErrorRules rules[] = {ContractRules(contract, types, false), GoldenRules(false)};
  const Evaluation got = Evaluate(graph, graph.outputs[0], inputs, false, rules);
  for (uint64_t run = 0; run < 20; ++run) {
    const std::vector<double> y = test::Simulate(graph, graph.outputs[0], inputs, types, contract, 100 * seed + run);
    for (size_t i = 0; i < y.size(); ++i) {
      const double reach = got.reach[0][i] + got.reach[1][i];
      EXPECT_FALSE(std::isnan(reach)) << example.name;
      (reach == HUGE_VAL ? counts.open : counts.stated) += 1;
      if (IsRight(y[i], got.value[i], reach, contract.AccMaxFinite())) continue;
      ++counts.wrong;
      if (counts.wrong <= 3) {
        ADD_FAILURE() << example.name << " seed " << seed << " run " << run << " element " << i << ": " << y[i]
                      << " instead of " << got.value[i] << ", reach " << reach;
      }
    }
  }
}

TEST(FormulaSpecial, WhatIsStatedHoldsForSpecialNumbers) {
  for (const char* declaration : {"f32;math=4", "f32;math=2;ftz=all"}) {
    const Contract contract = ParseDeclaration(declaration).value();
    for (const Example& example : AllExamples()) {
      Counts counts;
      for (uint64_t seed = 0; seed < 50; ++seed) Judge(example, contract, DType::kF32, seed, counts);
      fmt::print("{:20} {:18} stated {:.0f} %\n", declaration, example.name,
                 100.0 * static_cast<double>(counts.stated) / static_cast<double>(counts.stated + counts.open));
      EXPECT_GT(static_cast<double>(counts.stated), 0.6 * static_cast<double>(counts.stated + counts.open))
          << example.name;
    }
  }
}

// 1/x around zero: nothing can be said where the divisor may be zero, and all of it where it is exact.
TEST(FormulaSpecial, DivisionThroughWhatMayBeZeroIsOpen) {
  Graph graph;
  const Axis n = AddAxis(graph, "n", 4);
  const Expr x = AddInput(graph, "x", n), y = AddInput(graph, "y", n);
  AddOutput(graph, "z", 1.0 / Strict(x - y), n);
  const std::vector<std::vector<double>> inputs = {{1, 1, 3, 0x1p-149}, {1 - 0x1p-24, 1, 1, 0}};
  const Contract contract = ParseDeclaration("f32;math=1").value();
  ErrorRules rules[] = {ContractRules(contract, {DType::kF32, DType::kF32}, false)};
  Evaluation got = Evaluate(graph, graph.outputs[0], inputs, false, rules);
  EXPECT_LT(got.reach[0][0], 0x1p-19 * got.value[0]);
  EXPECT_TRUE(std::isinf(got.value[1]));
  EXPECT_EQ(got.reach[0][1], 0) << "1 - 1 is 0, and 1/0 infinite, in every arithmetic";
  EXPECT_LT(got.reach[0][2], 1e-6);
  rules[0].inputs[0].relative = 0x1p-20;  // rounded inputs: the difference may vanish
  got = Evaluate(graph, graph.outputs[0], inputs, false, rules);
  EXPECT_EQ(got.reach[0][0], HUGE_VAL);
  EXPECT_EQ(got.reach[0][1], HUGE_VAL);
  EXPECT_LT(got.reach[0][2], 1e-5);
}

}  // namespace
}  // namespace assay::formula
