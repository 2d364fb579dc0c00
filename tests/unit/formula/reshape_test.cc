// SPDX-License-Identifier: Apache-2.0
// Axes that are split and joined.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "ops/formula/evaluate.h"
#include "ops/formula/expr.h"
#include "ops/formula/formula_error.h"
#include "ops/formula/rules.h"
#include "tests/support/formula/exact.h"

namespace assay::formula {
namespace {

// x of [2,a,3,b] as [2,12], minus the mean over these 12 beside it.
struct Joined {
  explicit Joined(bool centres) {
    const Axis r = AddAxis(graph, "r", 2), b = AddAxis(graph, "b", 2), a = AddAxis(graph, "a", 2),
               three = AddAxis(graph, "three", 3), n = AddAxis(graph, "n", 12);
    const Expr x = AddInput(graph, "x", r + a + three + b);
    const Expr mean = Mean(x, a + three + b);
    const Expr flat = Reshape(centres ? x - mean : x, a + three + b, n);
    AddOutput(graph, "y", centres ? flat + mean : flat, r + n);
    std::vector<double> values(24);
    std::iota(values.begin(), values.end(), 0.125);
    inputs = {values};
  }
  Graph graph;
  std::vector<std::vector<double>> inputs;
};

TEST(Reshape, KeepsTheRowMajorOrder) {
  const Joined joined(false);
  const ErrorRules rules[] = {ContractRules(ParseDeclaration("f32;math=1").value(), {DType::kF32}, false)};
  const Evaluation got = Evaluate(joined.graph, joined.graph.outputs[0], joined.inputs, false, rules);
  EXPECT_EQ(got.value, joined.inputs[0]);
  EXPECT_EQ(got.reach[0], std::vector<double>(24)) << "nothing is rounded";
}

TEST(Reshape, KeepsErrorsThatOtherNumbersShare) {
  const Joined joined(true);
  const ErrorRules rules[] = {ContractRules(ParseDeclaration("f32;math=1").value(), {DType::kF32}, false),
                              GoldenRules(false)};
  const Evaluation got = Evaluate(joined.graph, joined.graph.outputs[0], joined.inputs, false, rules);
  const auto exact = test::EvaluateExactly(joined.graph, joined.graph.outputs[0], joined.inputs);
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_LE(exact[i].DistanceFrom(got.value[i], 0), got.reach[1][i]);
    EXPECT_NEAR(exact[i].Rounded(), joined.inputs[0][i], 1e-12);
    // The error of the sum of 12 terms, 11 roundings of each, would be larger.
    EXPECT_LT(got.reach[0][i], 11 * 0x1p-23 * 17.6);
  }
}

TEST(Reshape, SplitsAnAxis) {
  Graph graph;
  const Axis n = AddAxis(graph, "n", 12), q = AddAxis(graph, "q", 3), p = AddAxis(graph, "p", 4);
  AddOutput(graph, "y", Sum(Reshape(AddInput(graph, "x", n), n, p + q), q), p);
  std::vector<double> values(12);
  std::iota(values.begin(), values.end(), 0.0);
  const Evaluation got = Evaluate(graph, graph.outputs[0], std::vector<std::vector<double>>{values}, false, {});
  EXPECT_EQ(got.value, (std::vector<double>{3, 12, 21, 30}));
}

TEST(Take, PutsElementsAtPlacesOfSeveralAxes) {
  Graph graph;
  const Axis r = AddAxis(graph, "r", 2), a = AddAxis(graph, "a", 2), b = AddAxis(graph, "b", 2),
             n = AddAxis(graph, "n", 3);
  const Expr x = AddInput(graph, "x", a + r + b);
  AddOutput(graph, "y", Take(x, a + b, n, {3, -1, 0}), r + n);
  const std::vector<std::vector<double>> inputs = {{0, 1, 10, 11, 2, 3, 12, 13}};  // 10 r + 2 a + b
  const Evaluation got = Evaluate(graph, graph.outputs[0], inputs, false, {});
  EXPECT_EQ(got.value, (std::vector<double>{3, 0, 0, 13, 0, 10}));
  EXPECT_THROW(Take(x, a + b, n, {3, 0}), FormulaError);
  EXPECT_THROW(Take(x, a + b, n, {4, 0, 0}), FormulaError);
  EXPECT_THROW(Take(x, a + b, n, {-2, 0, 0}), FormulaError);
  EXPECT_THROW(Take(x, a + b, r, {1, 0}), FormulaError) << "the result would have r twice";
}

// Places take memory, and numbers of elements may be more than an integer holds.
TEST(Reshape, OfTooManyElementsIsRefused) {
  Graph graph;
  const Axis a = AddAxis(graph, "a", 1 << 20), b = AddAxis(graph, "b", 1 << 20), c = AddAxis(graph, "c", 1 << 20),
             d = AddAxis(graph, "d", 1 << 20), e = AddAxis(graph, "e", 1 << 20), one = AddAxis(graph, "one", 1);
  EXPECT_THROW(Reshape(AddInput(graph, "x", a + b), a + b, c + d), FormulaError);
  EXPECT_THROW(Reshape(AddInput(graph, "y", a + b + c + d), a + b + c + d, one), FormulaError);
  const Expr z = AddInput(graph, "z", e);
  for (int i = 0; i < 64; ++i) At(z, e, a, [](int64_t at) { return at; });
  EXPECT_THROW(At(z, e, a, [](int64_t at) { return at; }), FormulaError);
}

}  // namespace
}  // namespace assay::formula
