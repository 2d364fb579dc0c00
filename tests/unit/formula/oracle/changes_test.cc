// SPDX-License-Identifier: Apache-2.0
// Formulas that differ in one place: every one of every operator can be evaluated and bounded, and computes what its
// text says.
#include "ops/formula/changes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/formula/expr.h"
#include "ops/formula/formula_text.h"
#include "tests/support/full.h"
#include "tests/support/operator_cases.h"
#include "tests/unit/formula/oracle/generic_cases.h"

namespace assay::test {
namespace {

TEST(FormulaChanges, OfEveryOperatorAreEvaluatedAndBounded) {
  for (const FormulaOperator* op : AllFormulas()) {
    const std::vector<CaseSpec> cases = op->FewCases();
    ASSERT_FALSE(cases.empty()) << op->schema().op;
    const Problem problem = op->Bind(cases[0]).value();
    const std::vector<Tensor> inputs = op->MakeInputs(problem);
    const Contract contract = Declared(problem.inputs[0].dtype == DType::kF64 ? "f64;math=4" : "f32acc;math=4");
    int changed = 0;
    for (const formula::GraphChange& change : formula::ListGraphChanges(op->WholeDefinitionOf(problem).graph())) {
      if (changed++ % (test::kIsFull ? 1 : 6) != 0) continue;
      const auto other = op->WithChange(change);
      for (size_t output = 0; output < problem.outputs.size(); ++output) {
        const Golden golden = other->ComputeGolden(problem, output, inputs, Tier::kFast);
        EXPECT_EQ(golden.shape, problem.outputs[output].shape) << op->schema().op << ": " << change.text;
        const BoundModel bound = other->Bound(problem, output, golden, contract);
        const ElementJudge judge(golden, bound, contract, problem.outputs[output].dtype);
        for (int64_t i = 0; i < std::min<int64_t>(golden.size(), 4); ++i) judge.Judge(i, 0.5);
      }
    }
    // They move elements, or have words of bits.
    const std::set<std::string> movements = {"argsort",         "cast",   "embedding",   "gather",
                                             "index_select",    "philox", "scatter_add", "sort",
                                             "take_along_axis", "top_k",  "transpose"};
    EXPECT_EQ(changed == 0, movements.contains(op->schema().op)) << op->schema().op;
  }
}

double FirstOf(const std::string& id, const std::string& text) {
  const Problem problem = Bind(id);
  const auto& op = dynamic_cast<const FormulaOperator&>(Op(problem.spec.op));
  for (const formula::GraphChange& change : formula::ListGraphChanges(op.WholeDefinitionOf(problem).graph())) {
    if (change.text != text) continue;
    return op.WithChange(change)->ComputeGolden(problem, 0, op.MakeInputs(problem), Tier::kFast).value[0];
  }
  ADD_FAILURE() << id << " has no change to " << text;
  return std::nan("");
}

TEST(FormulaChanges, ComputeWhatTheySay) {
  const std::string id = "rms_norm/f64/rows=1,n=8/fill=normal/seed=0";
  const Problem problem = Bind(id);
  const std::vector<Tensor> inputs = Op("rms_norm").MakeInputs(problem);
  const std::vector<double> x = inputs[0].ToDoubles(), gamma = inputs[1].ToDoubles();
  double squares = 0;
  for (const double value : x) squares += value * value;
  const auto expect = [&](const char* text, double divisor) {
    EXPECT_NEAR(FirstOf(id, text), x[0] / divisor * gamma[0], 1e-12) << text;
  };
  expect("sum(x * x) in place of mean(x * x)", std::sqrt(squares + 1e-6));
  expect("7 in place of 8", std::sqrt(squares / 7 + 1e-6));
  expect("sum(x * x) without its last term", std::sqrt((squares - x[7] * x[7]) / 8 + 1e-6));
  expect("sum(x * x) without its first term", std::sqrt((squares - x[0] * x[0]) / 8 + 1e-6));
  expect("1 / (sqrt(mean(...)) + 1e-06) in place of rsqrt(mean(x * x) + 1e-06)", std::sqrt(squares / 8) + 1e-6);
  expect("mean(x * x) in place of mean(x * x) + 1e-06", std::sqrt(squares / 8));
  expect("1e-05 in place of 1e-06", std::sqrt(squares / 8 + 1e-5));
}

TEST(FormulaChanges, OfAConstantMayBeAnyNumber) {
  const std::string id = "rms_norm/f64/rows=1,n=8/fill=normal/seed=0";
  const Problem problem = Bind(id);
  const auto& op = dynamic_cast<const FormulaOperator&>(Op("rms_norm"));
  const std::vector<Tensor> inputs = op.MakeInputs(problem);
  const formula::Graph graph = op.WholeDefinitionOf(problem).graph();
  const auto is_eps = [](const formula::Node& node) {
    return node.kind == formula::Kind::kConst && node.constant == 1e-6;
  };
  const auto eps = static_cast<int>(std::ranges::find_if(graph.nodes, is_eps) - graph.nodes.begin());
  const formula::GraphChange change = formula::ReplaceConstant(graph, eps, 0.25);
  EXPECT_EQ(change.text, "0.25 in place of 1e-06");
  double squares = 0;
  for (const double value : inputs[0].ToDoubles()) squares += value * value;
  const double y = op.WithChange(change)->ComputeGolden(problem, 0, inputs, Tier::kFast).value[0];
  EXPECT_NEAR(y, inputs[0].ToDoubles()[0] / std::sqrt(squares / 8 + 0.25) * inputs[1].ToDoubles()[0], 1e-12);
  EXPECT_FALSE(formula::ChangeGraph(graph, {.node = 0, .number = 0.25}));  // an operand
}

// A kernel has its mistake in all steps of a loop.
TEST(FormulaChanges, OfStepsThatAreWrittenOutAreLeft) {
  const Problem problem = Bind("gated_delta_rule/f32/b=1,h=1,l=16,d=4,dv=4/fill=normal/seed=0");
  const auto& op = dynamic_cast<const FormulaOperator&>(Op("gated_delta_rule"));
  const formula::Graph graph = op.WholeDefinitionOf(problem).graph();
  ASSERT_GT(graph.nodes.size(), formula::kMostChangedNodes);
  std::set<int> changed;
  for (const formula::GraphChange& change : formula::ListGraphChanges(graph)) changed.insert(change.node);
  EXPECT_GT(changed.size(), 10);
  EXPECT_LT(changed.size(), 80);
}

TEST(FormulaChanges, OfRecurrencesWithAGate) {
  const std::string id = "associative_scan/f64/rows=1,n=1/fill=normal/seed=0";
  const Problem problem = Bind(id);
  const std::vector<Tensor> inputs = Op("associative_scan").MakeInputs(problem);
  const double a = inputs[0].ToDoubles()[0], b = inputs[1].ToDoubles()[0];
  EXPECT_NEAR(FirstOf(id, "recurrence(a, b) that begins at 1"), a + b, 1e-12);
  EXPECT_NEAR(FirstOf(id, "recurrence(a, b * a) in place of recurrence(a, b)"), a * b, 1e-12);
  EXPECT_NEAR(FirstOf(id, "recurrence(a, b) of the step before, 0 at the first one"), 0, 0);
}

TEST(FormulaChanges, OfScansRunFromTheEndAndLeaveOutTheirOwnTerm) {
  const std::string id = "cumsum/f64/rows=1,n=5/fill=normal/seed=0";
  const Problem problem = Bind(id);
  const std::vector<double> x = Op("cumsum").MakeInputs(problem)[0].ToDoubles();
  EXPECT_NEAR(FirstOf(id, "cumsum(x) from the end"), x[0] + x[1] + x[2] + x[3] + x[4], 1e-12);
  EXPECT_EQ(FirstOf(id, "cumsum(x) without its own term"), 0);
}

TEST(FormulaChanges, HaveNoMoreNodesWhereOperandsAreShared) {
  formula::Graph graph;
  const formula::Axis n = AddAxis(graph, "n", 4);
  formula::Expr x = AddInput(graph, "x", n);
  for (int step = 0; step < 16; ++step) x = x * (1 - x);
  AddOutput(graph, "y", CumSum(x, n), n);
  for (const formula::GraphChange& change : formula::ListGraphChanges(graph)) {
    EXPECT_LT(formula::ChangeGraph(graph, change)->nodes.size(), 3 * graph.nodes.size()) << change.text;
  }
}

}  // namespace
}  // namespace assay::test
