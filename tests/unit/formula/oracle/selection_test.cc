// SPDX-License-Identifier: Apache-2.0
// top_k and sort: ranks, ties and NaN; how far what a rank holds may move; which places are certain.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/core/data/fill/rng.h"
#include "harness/core/data/infinity.h"
#include "harness/judge/judge_output.h"
#include "harness/judge/verdict.h"
#include "ops/formula/evaluate.h"
#include "ops/formula/expr.h"
#include "ops/formula/rules.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

Tensor Row(const Problem& problem, const std::vector<double>& values) {
  Tensor x(problem.inputs[0].dtype, problem.inputs[0].shape);
  x.SetDoubles(values);
  return x;
}

std::vector<double> GoldenOf(const Problem& problem, size_t output, const std::vector<double>& x) {
  const Tensor inputs[] = {Row(problem, x)};
  return Op(problem.spec.op).ComputeGolden(problem, output, inputs, Tier::kReproducible).value;
}

TEST(Selection, RanksTiesAndNan) {
  const std::vector<double> x = {2, -0.0, 7, std::nan(""), 7, 0.0, -3, kInfinity};
  const Problem top = Bind("top_k/f32/rows=1,k=4,n=8/fill=normal/seed=0");
  const std::vector<double> values = GoldenOf(top, 0, x);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(std::vector<double>(values.begin() + 1, values.end()), (std::vector<double>{kInfinity, 7, 7}));
  EXPECT_EQ(GoldenOf(top, 1, x), (std::vector<double>{3, 7, 2, 4}));
  const Problem least = Bind("top_k/f32/rows=1,k=4,n=8,smallest=1/fill=normal/seed=0");
  EXPECT_EQ(GoldenOf(least, 0, x), (std::vector<double>{-3, 0, 0, 2}));
  EXPECT_EQ(GoldenOf(least, 1, x), (std::vector<double>{6, 1, 5, 0}));
  EXPECT_EQ(GoldenOf(Bind("sort/f32/rows=1,n=8/fill=normal/seed=0"), 1, x),
            (std::vector<double>{6, 1, 5, 0, 2, 4, 7, 3}));
  EXPECT_EQ(GoldenOf(Bind("sort/f32/rows=1,n=8,descending=1/fill=normal/seed=0"), 1, x),
            (std::vector<double>{3, 7, 2, 4, 0, 1, 5, 6}));
}

// Beside a sort of the standard library, on data of every kind.
TEST(Selection, IsAStableSort) {
  for (const char* fill : {"normal", "ties", "special", "edges", "masked"}) {
    for (const bool descending : {false, true}) {
      const Problem problem =
          Bind(std::string("sort/f32/rows=4,n=40") + (descending ? ",descending=1" : "") + "/fill=" + fill + "/seed=2");
      const std::vector<double> x = Op("sort").MakeInputs(problem)[0].ToDoubles();
      const std::vector<double> places = GoldenOf(problem, 1, x), values = GoldenOf(problem, 0, x);
      const auto larger = [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a > b; };
      for (size_t row = 0; row < 4; ++row) {
        std::vector<size_t> order(40);
        std::iota(order.begin(), order.end(), size_t{0});
        std::ranges::stable_sort(order, [&](size_t a, size_t b) {
          return descending ? larger(x[row * 40 + a], x[row * 40 + b]) : larger(x[row * 40 + b], x[row * 40 + a]);
        });
        for (size_t k = 0; k < 40; ++k) {
          EXPECT_EQ(places[row * 40 + k], static_cast<double>(order[k])) << fill << descending;
          const double value = values[row * 40 + k], expected = x[row * 40 + order[k]];
          EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected))) << fill << descending;
        }
      }
    }
  }
}

TEST(Selection, IndicesAreOfTheirOwnType) {
  const Problem top = Bind("top_k/bf16/rows=3,k=2,n=8/fill=normal/seed=0");
  ASSERT_EQ(top.outputs.size(), 2U);
  EXPECT_EQ(top.outputs[0].dtype, DType::kBF16);
  EXPECT_EQ(top.outputs[1].dtype, DType::kI64);
  EXPECT_EQ(top.outputs[1].shape, (Shape{3, 2}));
  EXPECT_FALSE(TryBind("top_k/f32/rows=3,k=9,n=8/fill=normal/seed=0").has_value());
  EXPECT_TRUE(Op("top_k").TraitsOf(top, 0).selects && Op("top_k").TraitsOf(top, 1).selects);
}

constexpr size_t kPlaces = 1;  // the output beside the values

// Replaces places of equal numbers by the golden ones.
std::vector<double> Canonical(const char* id, const std::vector<double>& x, const std::vector<double>& places) {
  const Problem problem = Bind(id);
  const Tensor inputs[] = {Row(problem, x)};
  Tensor got(DType::kI64, problem.outputs[kPlaces].shape);
  got.SetDoubles(places);
  Op(problem.spec.op).Canonicalise(problem, kPlaces, inputs, got);
  return got.ToDoubles();
}

TEST(Selection, EqualNumbersStandInAnyOrderWhereTheCaseSaysSo) {
  const std::vector<double> x = {5, 1, 5, 5, 4, -0.0, 0.0, std::nan("")};
  const char* any = "top_k/f32/rows=1,k=3,n=8,tie=any/fill=normal/seed=0";
  const std::vector<double> golden = {7, 0, 2};
  EXPECT_EQ(Canonical(any, x, {7, 3, 0}), golden);
  EXPECT_EQ(Canonical(any, x, {7, 2, 3}), golden);
  EXPECT_NE(Canonical(any, x, {7, 2, 2}), golden);  // one number twice
  EXPECT_NE(Canonical(any, x, {7, 0, 0}), golden);
  EXPECT_NE(Canonical(any, x, {7, 4, 0}), golden);  // a smaller number
  EXPECT_EQ(Canonical(any, x, {7, 8, -1}), (std::vector<double>{7, 8, -1}));
  EXPECT_NE(Canonical("top_k/f32/rows=1,k=3,n=8/fill=normal/seed=0", x, {7, 3, 0}), golden);
  EXPECT_EQ(Canonical("sort/f32/rows=1,n=8,tie=any/fill=normal/seed=0", x, {6, 5, 1, 4, 3, 0, 2, 7}),
            (std::vector<double>{5, 6, 1, 4, 0, 2, 3, 7}));
  // Lines are looked at by themselves.
  EXPECT_EQ(Canonical("top_k/f32/rows=2,k=1,n=2,tie=any/fill=normal/seed=0", {3, 3, 1, 2}, {1, 0}),
            (std::vector<double>{0, 0}));
}

std::vector<Tensor> RowAlone(const Problem& problem, const std::vector<double>& x) {
  std::vector<Tensor> inputs;
  inputs.push_back(Row(problem, x));
  return inputs;
}

// Judges a user's places under a contract that rounds operands.
Decision DecisionOf(const std::vector<double>& x, const std::vector<double>& places) {
  const Problem problem = Bind("top_k/f32/rows=1,k=2,n=4/fill=normal/seed=0");
  const Operator& op = Op("top_k");
  const std::vector<Tensor> inputs = RowAlone(problem, x);
  const Golden golden = op.ComputeGolden(problem, kPlaces, inputs, Tier::kFast);
  const Contract contract = Declared("tf32;math=0");
  const BoundModel bound = op.Bound(problem, kPlaces, golden, contract);
  Tensor got(DType::kI64, problem.outputs[kPlaces].shape);
  got.SetDoubles(places);
  JudgeInputs evidence;
  evidence.shape = problem.outputs[kPlaces].shape;
  evidence.declared = evidence.required = contract;
  evidence.runs.push_back(JudgeOutput({op, problem, kPlaces, inputs, golden, bound, contract}, got));
  return Decide(evidence);
}

// Numbers that a class may round to one stand in either order, but each of them once.
TEST(Selection, APlaceStandsOnceWhateverIsUncertain) {
  const std::vector<double> x = {8, 8 + 0x1p-18, 1, 0};
  EXPECT_EQ(DecisionOf(x, {1, 0}).verdict, Verdict::kPass);
  EXPECT_EQ(DecisionOf(x, {0, 1}).verdict, Verdict::kPass);
  EXPECT_EQ(DecisionOf(x, {0, 0}).verdict, Verdict::kMismatch);
  EXPECT_EQ(DecisionOf(x, {1, 1}).verdict, Verdict::kMismatch);
  EXPECT_EQ(Canonical("sort/f32/rows=2,n=3/fill=normal/seed=0", {0, 1, 2, 0, 1, 2}, {0, 1, 0, 0, 1, 2}),
            (std::vector<double>{0, 1, -1, 0, 1, 2}));
}

TEST(Selection, APlaceBeyondTheRowIsWrongAsANumber) {
  const Decision decision = DecisionOf({8, 8 + 0x1p-18, 1, 0}, {1, 40});
  EXPECT_EQ(decision.verdict, Verdict::kMismatch);
  EXPECT_NE(decision.reason.find("got 40"), std::string::npos) << decision.reason;
  EXPECT_EQ(decision.reason.find("non-finite"), std::string::npos) << decision.reason;
}

// Advice speaks of sums where there are some.
TEST(Selection, HasNoSums) {
  EXPECT_FALSE(Op("top_k").TraitsOf(Bind("top_k/f32/rows=1,k=2,n=4/fill=normal/seed=0"), 0).sums);
  EXPECT_FALSE(Op("exp").TraitsOf(Bind("exp/f32/n=4/fill=normal/seed=0"), 0).sums);
  EXPECT_TRUE(Op("layer_norm").TraitsOf(Bind("layer_norm/f32/rows=2,n=4/fill=normal/seed=0"), 0).sums);
  for (const bool sums : {false, true}) {
    JudgeInputs evidence;
    evidence.shape = {4};
    evidence.runs.emplace_back();
    evidence.user_data = true;
    evidence.sums = sums;
    evidence.power = MutationPower{};
    evidence.power->blank = "zeros";
    EXPECT_EQ(Decide(evidence).reason.find("fewer terms") != std::string::npos, sums) << Decide(evidence).reason;
  }
}

// Numbers of a row that are not known exactly: whatever they are, ranks stay within their reach, and places that are
// said to be certain stay what they are.
TEST(Selection, MovesNoFurtherThanItsReach) {
  using namespace formula;  // NOLINT
  int certain = 0, uncertain = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const RandomStream random(seed, 1);
    Graph graph;
    const formula::Axis rows = AddAxis(graph, "rows", 2), n = AddAxis(graph, "n", 9), k = AddAxis(graph, "k", 5);
    const Expr x = AddInput(graph, "x", rows + n);
    const formula::Selection top = TopK(x, n, k, {.smallest = seed % 2 == 1});
    AddOutput(graph, "values", top.values, rows + k);
    AddOutput(graph, "places", top.places, rows + k);
    ErrorRules rules[1] = {GoldenRules(false)};
    rules[0].inputs = {{.relative = 0x1p-4, .lost_below = 0.25}};
    std::vector<std::vector<double>> inputs(1);
    for (uint64_t i = 0; i < 18; ++i) inputs[0].push_back(static_cast<double>(random.Below(i, 64)) / 16 - 2);
    const auto evaluate = [&](size_t output, const std::vector<std::vector<double>>& of) {
      const Graph kept = KeepOutput(graph, output);
      return Evaluate(kept, kept.outputs[0], of, false, rules);
    };
    const Evaluation values = evaluate(0, inputs), places = evaluate(1, inputs);
    for (uint64_t trial = 0; trial < 40; ++trial) {
      std::vector<std::vector<double>> moved = inputs;
      for (uint64_t i = 0; i < 18; ++i) {
        double& one = moved[0][i];
        const bool lost = std::fabs(one) < 0.25 && random.Below(1000 + 100 * trial + i, 2) == 0;
        one *= lost ? 0 : 1 + 0x1p-4 * (static_cast<double>(random.Below(9000 + 100 * trial + i, 3)) - 1);
      }
      const Evaluation values_now = evaluate(0, moved), places_now = evaluate(1, moved);
      for (size_t i = 0; i < values.value.size(); ++i) {
        EXPECT_LE(std::fabs(values_now.value[i] - values.value[i]), values.reach[0][i] * (1 + 0x1p-40)) << seed;
        const bool is_certain = places.reach[0][i] == 0;
        (is_certain ? certain : uncertain) += 1;
        if (is_certain) {
          EXPECT_EQ(places_now.value[i], places.value[i]) << seed;
        }
      }
    }
  }
  EXPECT_GT(certain, 1000);
  EXPECT_GT(uncertain, 1000);
}

struct ReachOfSelection {
  std::vector<double> values, places;
};

// Reach of the two largest of a row, under this rule of the operand.
ReachOfSelection ReachOf(const std::vector<double>& row, const formula::InputRule& rule) {
  formula::Graph graph;
  const formula::Axis n = AddAxis(graph, "n", std::ssize(row)), k = AddAxis(graph, "k", 2);
  const formula::Selection top = TopK(AddInput(graph, "x", n), n, k, {});
  AddOutput(graph, "values", top.values, k);
  AddOutput(graph, "places", top.places, k);
  formula::ErrorRules rules[1] = {formula::GoldenRules(false)};
  rules[0].inputs = {rule};
  const std::vector<std::vector<double>> inputs = {row};
  const auto reach = [&](size_t output) {
    const formula::Graph kept = KeepOutput(graph, output);
    return Evaluate(kept, kept.outputs[0], inputs, false, rules).reach[0];
  };
  return {reach(0), reach(1)};
}

// An element of unknown value may rank anywhere, so that no place is certain.
TEST(Selection, WhatMayBeAnythingLeavesNoPlaceCertain) {
  for (const double anything : {10.0, -10.0}) {
    const ReachOfSelection reach = ReachOf({1, 2, 4, anything}, {.overflow_at = 5});
    EXPECT_EQ(reach.places, (std::vector<double>{kInfinity, kInfinity})) << anything;
    EXPECT_EQ(reach.values[0], kInfinity) << anything;
    EXPECT_GE(reach.values[1], 2) << anything;
  }
  EXPECT_EQ(ReachOf({1, 2, 4, 3}, {.overflow_at = 5}).places, (std::vector<double>{0, 0}));
  EXPECT_EQ(ReachOf({1, kInfinity, 4, std::nan("")}, {.overflow_at = 5}).places, (std::vector<double>{0, 0}));
}

// A reach far below the spacing of the numbers still counts.
TEST(Selection, KeepsTheSmallestReach) {
  const ReachOfSelection reach = ReachOf({1, 3, 2}, {.relative = 0x1p-80});
  EXPECT_GE(reach.values[0], 3 * 0x1p-80);
  EXPECT_GE(reach.values[1], 2 * 0x1p-80);
  EXPECT_LE(reach.values[0], 3.01 * 0x1p-80);
}

// Numbers that a class may round to one may change sides: the places of both are right then, and nothing else.
TEST(Selection, UncertainPlacesAreThoseThatMayStandThere) {
  const Problem problem = Bind("top_k/f32/rows=1,k=2,n=4/fill=normal/seed=0");
  const Tensor inputs[] = {Row(problem, {1, 8, 1 + 0x1p-20, 0})};
  const Operator& op = Op("top_k");
  const Golden golden = op.ComputeGolden(problem, kPlaces, inputs, Tier::kFast);
  EXPECT_EQ(golden.value, (std::vector<double>{1, 2}));
  const DeclaredBound exact = BoundOf(problem, golden, "f32acc;math=0", kPlaces);
  const DeclaredBound rounded = BoundOf(problem, golden, "tf32;math=0", kPlaces);
  for (double place = -1; place <= 4; ++place) {
    EXPECT_EQ(Accepts(exact, golden, 1, place), place == 2) << place;
    EXPECT_EQ(Accepts(rounded, golden, 1, place), place == 0 || place == 2) << place;
    EXPECT_EQ(Accepts(rounded, golden, 0, place), place == 1) << place;
  }
}

// Every rank that a kernel overlooks is seen in the data of the case, but for those that change nothing.
TEST(Selection, OverlookedRanksAreFaults) {
  for (const char* id : {"top_k/f32/rows=3,k=5,n=40/fill=normal/seed=1", "sort/bf16/rows=3,n=40/fill=normal/seed=1",
                         "top_k/bf16/rows=3,k=5,n=40,smallest=1,tie=any/fill=ties/seed=1"}) {
    const Problem problem = Bind(id);
    const Operator& op = Op(problem.spec.op);
    const std::vector<Tensor> inputs = op.MakeInputs(problem);
    for (size_t output = 0; output < 2; ++output) {
      const Golden golden = op.ComputeGolden(problem, output, inputs, Tier::kFast);
      const DeclaredBound bound = BoundOf(problem, golden, "f32acc;math=0", output);
      std::vector<int64_t> all;
      for (int64_t i = 0; i < golden.size(); ++i) all.push_back(i);
      const std::vector<Mutant> mutants = op.OmittedTerms(problem, output, inputs, golden.value, all);
      EXPECT_GE(mutants.size(), 8U) << id << " " << output;
      for (const Mutant& mutant : mutants) {
        EXPECT_FALSE(Accepts(bound, golden, mutant.index, mutant.value)) << id << " " << output;
        EXPECT_TRUE(Accepts(bound, golden, mutant.index, golden.value[static_cast<size_t>(mutant.index)]));
      }
    }
  }
}

}  // namespace
}  // namespace assay::test
