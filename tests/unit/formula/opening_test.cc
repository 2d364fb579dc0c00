// SPDX-License-Identifier: Apache-2.0
// Where a formula promises nothing of an element, the step at which that begins is named.
#include "ops/formula/opening.h"

#include <gtest/gtest.h>

#include <limits>

#include "ops/formula/expr.h"
#include "ops/formula/integers.h"
#include "ops/formula/rules.h"

namespace assay::formula {
namespace {

using Formula = std::function<Expr(Expr, Axis)>;

// The opening of an element of a formula of x, with f32's contract. "": its rules bound it.
std::string OpeningOf(const std::vector<double>& x, int64_t element, const Formula& formula, int64_t columns = 1) {
  Graph graph;
  const Axis rows = AddAxis(graph, "rows", std::ssize(x) / columns), n = AddAxis(graph, "n", columns);
  const Expr y = formula(AddInput(graph, "x", rows + n), n);
  AddOutput(graph, "y", y, Has(y.node().axes, n.id) ? rows + n : Axes(rows));
  const std::vector<DType> types = {DType::kF32};
  const auto opening = FindOpening(graph, graph.outputs[0], {x}, false, ContractRules({}, types, false), element);
  return opening ? opening->text : "";
}

TEST(Opening, DivisorsAreNamed) {
  const auto quotient = [](Expr x, Axis) { return 1.0 / (x - 1.0); };
  EXPECT_EQ(OpeningOf({3, 1, 2}, 1, quotient), "the divisor x - 1 of 1 / (x - 1) may be 0");
  EXPECT_EQ(OpeningOf({3, 1, 2}, 0, quotient), "");
  const auto of_sum = [](Expr x, Axis n) { return Exp(x / Sum(x, n)); };
  EXPECT_EQ(OpeningOf({1, 2, 5, -5}, 3, of_sum, 2), "the divisor sum(x) of x / sum(x) may be 0");
  EXPECT_EQ(OpeningOf({1, 2, 5, -5}, 1, of_sum, 2), "");
}

TEST(Opening, DomainsRangesAndInfinitiesAreNamed) {
  EXPECT_EQ(OpeningOf({1}, 0, [](Expr x, Axis) { return 2.0 * Log(x - 1.0); }),
            "the operand x - 1 of log(x - 1) may be where that has no finite result");
  EXPECT_EQ(OpeningOf({1, 100}, 1, [](Expr x, Axis) { return Exp(x) - 1.0 * Exp(x); }),
            "exp(x) may leave the range of its arithmetic");
  EXPECT_EQ(OpeningOf({std::numeric_limits<double>::infinity()}, 0, [](Expr x, Axis) { return x * (x - x + 0.0 * x); }),
            "");
}

// The branch that a certain condition leaves out is not what leaves the element open.
TEST(Opening, TheBranchThatIsChosenIsNamed) {
  const auto chosen = [](Expr x, Axis) { return Select(Less(x, 2.0 * x), 1.0 / (x - 1.0), Log(x - 1.0)); };
  EXPECT_EQ(OpeningOf({1}, 0, chosen), "the divisor x - 1 of 1 / (x - 1) may be 0");
  const auto guarded = [](Expr x, Axis) { return Select(Equal(x, x), x, 1.0 / (x - 1.0)); };
  EXPECT_EQ(OpeningOf({1}, 0, guarded), "");
}

TEST(Opening, IntegersNameWhatTheirTypeDoesNotHold) {
  Graph graph;
  const Axis n = AddAxis(graph, "n", 2);
  const Expr x = AddInput(graph, "x", n);
  for (Node& node : graph.nodes) node.numbers = Numbers::kInteger;
  AddOutput(graph, "y", FloorDivide(x, x + x), n);
  const std::vector<DType> types = {DType::kI8};
  const Graph limited = LimitToRegisters(graph, types, DType::kI8);
  const auto of = [&](int64_t element) {
    return FindOpening(limited, limited.outputs[0], {{0, 100}}, true, GoldenRules(true), element);
  };
  EXPECT_EQ(of(0)->text, "the divisor x + x of floor divide(x, x + x) is 0");
  EXPECT_EQ(of(1)->kind, OpeningKind::kInteger);
}

}  // namespace
}  // namespace assay::formula
