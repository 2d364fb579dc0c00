// SPDX-License-Identifier: Apache-2.0
// Error bounds of formulas, compared with exact arithmetic and with correct implementations.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/formula/evaluate.h"
#include "ops/formula/rules.h"
#include "tests/support/formula/exact.h"
#include "tests/support/formula/examples.h"
#include "tests/support/formula/simulate.h"
#include "tests/support/full.h"

namespace assay::formula {
namespace {

using test::AllExamples;
using test::Example;

struct Built {
  Built(const Example& example, int64_t rows, int64_t n, DType type, uint64_t seed) {
    example.build(graph, rows, n);
    inputs = test::ExampleInputs(graph, example, type, seed);
  }
  const OutputInfo& output() const { return graph.outputs[0]; }
  Graph graph;
  std::vector<std::vector<double>> inputs;
};

TEST(FormulaPropagation, ValuesAreWithinTheirCertifiedErrorOfTheExactOnes) {
  size_t shown = 0;
  for (const Example& example : AllExamples()) {
    for (const bool dd : {false, true}) {
      const Built built(example, 3, 37, DType::kF64, 5);
      const ErrorRules rules[] = {GoldenRules(dd)};
      const Evaluation got = Evaluate(built.graph, built.output(), built.inputs, dd, rules);
      const auto exact = test::EvaluateExactly(built.graph, built.output(), built.inputs);
      double slack = 0;
      for (size_t i = 0; i < exact.size(); ++i) {
        const double error = exact[i].DistanceFrom(got.value[i], dd ? got.value_lo[i] : 0);
        EXPECT_LE(error, got.reach[0][i]) << example.name << " dd=" << dd << " element " << i;
        EXPECT_LT(got.reach[0][i], 1e-10 * std::max(1.0, std::fabs(got.value[i]))) << example.name << " says nothing";
        slack = std::max(slack, error / got.reach[0][i]);
      }
      shown += !dd && slack > 0.01 ? 1 : 0;
    }
  }
  EXPECT_GT(shown, AllExamples().size() * 3 / 4) << "errors that hardly anything comes near to are of no use";
}

// The largest error of an implementation over what the contract permits, before the output's own rounding.
double LargestShare(const Example& example, const char* declaration, DType type, int64_t n, int runs) {
  const Contract contract = ParseDeclaration(declaration).value();
  const bool dd = type == DType::kF64;
  const Built built(example, 2, n, type, 11);
  const std::vector<DType> types(built.graph.inputs.size(), type);
  const ErrorRules rules[] = {ContractRules(contract, types, dd), GoldenRules(dd)};
  const Evaluation got = Evaluate(built.graph, built.output(), built.inputs, dd, rules);
  double worst = 0;
  for (int run = 0; run < runs; ++run) {
    const std::vector<double> y =
        test::Simulate(built.graph, built.output(), built.inputs, types, contract, static_cast<uint64_t>(run));
    for (size_t i = 0; i < y.size(); ++i) {
      const double error = std::fabs((y[i] - got.value[i]) - (dd ? got.value_lo[i] : 0));
      const double permitted = got.reach[0][i] + got.reach[1][i];
      EXPECT_LE(error, permitted) << example.name << " " << declaration << " run " << run << " element " << i << ": "
                                  << y[i] << " instead of " << got.value[i];
      if (error > permitted) return HUGE_VAL;
      if (std::isfinite(permitted) && permitted > 0) worst = std::max(worst, error / permitted);
    }
  }
  return worst;
}

TEST(FormulaPropagation, CorrectImplementationsStayWithinTheContract) {
  struct Class {
    const char* declaration;
    DType type;
  };
  for (const Class& one :
       {Class{"f32;math=4", DType::kF32}, Class{"f64;math=2", DType::kF64},
        Class{"f32acc;math=2;ftz=all", DType::kBF16}, Class{"f16acc;math=1", DType::kF16},
        Class{"in=bf16;acc=f32;math=4", DType::kF32}, Class{"acc=f32;mid=bf16;math=2", DType::kF32}}) {
    size_t near = 0, examples = 0;
    for (const Example& example : AllExamples()) {
      const double share = LargestShare(example, one.declaration, one.type, 29, test::kIsFull ? 1000 : 250);
      ++examples, near += share > 0.01;
      fmt::print("{:28} {:20} {:.3f} of the bound\n", one.declaration, example.name, share);
    }
    EXPECT_GT(2 * near, examples) << "bounds that nothing comes near to, of " << one.declaration;
  }
}

// A sum beside itself is nothing, unless it is computed anew and then may be another number.
TEST(FormulaPropagation, ASumThatIsComputedTwiceHasTwoErrors) {
  const Contract contract = ParseDeclaration("f32;math=1").value();
  const std::vector<std::vector<double>> inputs = {{1, 0.7, 0.3, 1e-3, 5, 0.01}};
  double reach[2] = {};
  for (const bool twice : {false, true}) {
    Graph graph;
    const Axis r = AddAxis(graph, "r", 1), n = AddAxis(graph, "n", 6);
    const Expr once = Sum(AddInput(graph, "x", r + n), n);
    const Expr sum = twice ? Recomputed(once) : once;
    AddOutput(graph, "y", Strict(sum - sum), r);
    const ErrorRules rules[] = {ContractRules(contract, {DType::kF32}, false)};
    reach[twice ? 1 : 0] = Evaluate(graph, graph.outputs[0], inputs, false, rules).reach[0][0];
  }
  EXPECT_LT(reach[0], 1e-12);
  EXPECT_GT(reach[1], 2 * 4 * 0x1p-24) << "of two sums of six terms, each off by its own roundings";
}

}  // namespace
}  // namespace assay::formula
