// SPDX-License-Identifier: Apache-2.0
// Graphs of several outputs, one of which is looked at.
#include <gtest/gtest.h>

#include "ops/formula/block.h"
#include "ops/formula/evaluate.h"
#include "ops/formula/expr.h"
#include "ops/formula/faults.h"
#include "ops/formula/rules.h"

namespace assay::formula {
namespace {

// x[rows,n] -> y = x - mean of each row, m = that mean, s = the sums of each column.
struct SeveralOutputs {
  Graph graph;
  std::vector<std::vector<double>> inputs = {{1, 2, 6, 3, 5, 10}};
  SeveralOutputs() {
    const Axis rows = AddAxis(graph, "rows", 2), n = AddAxis(graph, "n", 3);
    const Expr x = AddInput(graph, "x", rows + n), unused = AddInput(graph, "unused", n);
    inputs.push_back({7, 7, 7});
    (void)unused;
    const Expr mean = Mean(x, n);
    AddOutput(graph, "y", x - mean, rows + n);
    AddOutput(graph, "m", mean, rows);
    AddOutput(graph, "s", Sum(x, rows), n);
  }
};

TEST(GraphOutputs, OneIsKeptWithWhatLeadsToIt) {
  const SeveralOutputs built;
  const std::vector<std::vector<double>> expected = {{-2, -1, 3, -3, -1, 4}, {3, 6}, {4, 7, 16}};
  for (size_t k = 0; k < expected.size(); ++k) {
    const Graph kept = KeepOutput(built.graph, k);
    ASSERT_EQ(kept.outputs.size(), 1U);
    EXPECT_EQ(kept.outputs[0].name, built.graph.outputs[k].name);
    EXPECT_LT(kept.nodes.size(), built.graph.nodes.size());
    EXPECT_EQ(kept.inputs.size(), built.graph.inputs.size());
    for (size_t i = 0; i < kept.nodes.size(); ++i) {
      for (const int arg : kept.nodes[i].args) EXPECT_LT(arg, static_cast<int>(i));
    }
    const ErrorRules rules[] = {GoldenRules(false)};
    EXPECT_EQ(Evaluate(kept, kept.outputs[0], built.inputs, false, rules).value, expected[k]) << k;
  }
}

// Definitions may state millions of places, and each use of one keeps an output.
TEST(GraphOutputs, OneIsKeptWithoutACopyOfItsPlaces) {
  Graph graph;
  const Axis n = AddAxis(graph, "n", 3);
  const Expr x = AddInput(graph, "x", n);
  const Expr before = At(x, n, n, [](int64_t i) { return i - 1; });
  AddOutput(graph, "y", before, n);
  const int64_t* places = before.node().index.data();
  const Graph kept = KeepOutput(std::move(graph), 0);
  EXPECT_EQ(kept.At(kept.outputs[0].node).index.data(), places);
}

// The axis that one output reduces is lanes of another.
TEST(GraphOutputs, LanesAreThoseOfTheOutputAlone) {
  const SeveralOutputs built;
  const Graph mean = KeepOutput(built.graph, 1), sums = KeepOutput(built.graph, 2);
  EXPECT_EQ(BlockPlan(mean, mean.outputs[0]).lanes(), 2);
  EXPECT_EQ(BlockPlan(sums, sums.outputs[0]).lanes(), 3);
}

// The mean of a row leads to both; what is missing in it is the mean's own.
TEST(GraphOutputs, FaultsBelongToTheOutputThatShowsThemMostPlainly) {
  SeveralOutputs built;
  const Expr x{&built.graph, 0};
  const Axis rows{0, 2}, n{1, 3};
  const Expr m{&built.graph, built.graph.outputs[1].node};
  AddOutput(built.graph, "d", Mean((x - m) * (x - m), n), rows);
  EXPECT_EQ(FaultyNodes(KeepOutput(built.graph, 1)).size(), 1U);
  EXPECT_EQ(FaultyNodes(KeepOutput(built.graph, 2)).size(), 1U);
  EXPECT_EQ(FaultyNodes(KeepOutput(built.graph, 3)).size(), 1U);  // the sum of squares alone
  EXPECT_EQ(FaultyNodes(built.graph).size(), 3U);
}

}  // namespace
}  // namespace assay::formula
