// SPDX-License-Identifier: Apache-2.0
// Elements that another arrangement opens, behind nodes that put them elsewhere: of the others what was promised stays.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ops/formula/evaluate.h"
#include "ops/formula/expr.h"
#include "ops/formula/rules.h"

namespace assay::formula {
namespace {

constexpr int64_t kThreeRows = 3, kLength = 4;

// (x - m) s of kThreeRows rows, which distributed overflows at row 1, element 2; what `then` makes of it.
std::vector<bool> OpenAfter(const std::function<void(Graph&, Expr, Axis, Axis)>& then) {
  Graph graph;
  const Axis rows = AddAxis(graph, "rows", kThreeRows), n = AddAxis(graph, "n", kLength);
  const Expr x = AddInput(graph, "x", rows + n), m = AddInput(graph, "m", rows + n), s = AddInput(graph, "s", rows + n);
  then(graph, (x - m) * s, rows, n);
  std::vector<std::vector<double>> inputs(3, std::vector<double>(kThreeRows * kLength, 1.5));
  constexpr size_t kAt = kLength + 2;
  inputs[0][kAt] = inputs[1][kAt] = 0x1p+100, inputs[2][kAt] = 0x1p+40;
  const ErrorRules rules[] = {
      ContractRules(ParseDeclaration("f32;math=1").value(), std::vector(3, DType::kF32), false)};
  const Evaluation got = Evaluate(graph, graph.outputs[0], inputs, false, rules);
  std::vector<bool> open;
  for (const double reach : got.reach[0]) open.push_back(reach == HUGE_VAL);
  return open;
}

std::vector<bool> OneOf(size_t count, size_t which) {
  std::vector<bool> open(count);
  open[which] = true;
  return open;
}

TEST(ArrangementsElsewhere, AMaximumOpensItsOwnRow) {
  const auto largest = [](Graph& graph, Expr y, Axis rows, Axis n) { AddOutput(graph, "y", Max(y, n), rows); };
  EXPECT_EQ(OpenAfter(largest), OneOf(kThreeRows, 1));
}

TEST(ArrangementsElsewhere, WhatIsStoredIsOpenWhereItWas) {
  const auto stored = [](Graph& graph, Expr y, Axis rows, Axis n) {
    AddOutput(graph, "y", Round(y, DType::kF32), rows + n);
  };
  EXPECT_EQ(OpenAfter(stored), OneOf(kThreeRows * kLength, kLength + 2));
}

TEST(ArrangementsElsewhere, WhatIsMovedIsOpenWhereItCame) {
  const auto moved = [](Graph& graph, Expr y, Axis rows, Axis n) {
    AddOutput(graph, "y", At(y, n, n, [](int64_t i) { return i - 1; }), rows + n);
  };
  EXPECT_EQ(OpenAfter(moved), OneOf(kThreeRows * kLength, kLength + 3));
}

}  // namespace
}  // namespace assay::formula
