// SPDX-License-Identifier: Apache-2.0
// Which power of a factor of inputs an output gets.
#include "ops/formula/degree.h"

#include <gtest/gtest.h>

#include <functional>

#include "ops/formula/expr.h"

namespace assay::formula {
namespace {

using Build = std::function<Expr(Expr x, Expr y, Axis n)>;

// Degree in x of an expression of x and y.
std::optional<int> DegreeIn(const Build& build) {
  Graph graph;
  const Axis n = AddAxis(graph, "n", 3);
  const Expr x = AddInput(graph, "x", n), y = AddInput(graph, "y", n);
  const Expr result = build(x, y, n);
  return DegreeOf(graph, result.id, {true, false});
}

TEST(Degree, OfProductsAndQuotients) {
  EXPECT_EQ(DegreeIn([](Expr x, Expr y, Axis) { return x * y; }), 1);
  EXPECT_EQ(DegreeIn([](Expr x, Expr y, Axis) { return y / x; }), -1);
  EXPECT_EQ(DegreeIn([](Expr x, Expr y, Axis) { return x * x * x / (x * y); }), 2);
  EXPECT_EQ(DegreeIn([](Expr x, Expr, Axis n) { return Prod(x, n); }), 3);
  EXPECT_EQ(DegreeIn([](Expr, Expr y, Axis) { return y; }), 0);
}

TEST(Degree, OfSumsAndChoicesIsThatOfAll) {
  EXPECT_EQ(DegreeIn([](Expr x, Expr y, Axis n) { return Sum(x * y, n) - Max(x, n); }), 1);
  EXPECT_EQ(DegreeIn([](Expr x, Expr, Axis) { return Max0(x); }), 1) << "zero has any";
  EXPECT_EQ(DegreeIn([](Expr x, Expr y, Axis) { return x + y; }), std::nullopt);
  EXPECT_EQ(DegreeIn([](Expr x, Expr y, Axis) { return Maximum(x * x, x * y); }), std::nullopt);
  EXPECT_EQ(DegreeIn([](Expr x, Expr, Axis) { return x + 1.0; }), std::nullopt);
  EXPECT_EQ(DegreeIn([](Expr x, Expr y, Axis) { return Select(Less(x, -x), x, x * y); }), 1);
  EXPECT_EQ(DegreeIn([](Expr x, Expr y, Axis) { return Select(Less(x, y), x, x); }), std::nullopt);
}

TEST(Degree, OfFunctionsAndRecurrencesWhoseFactorsStay) {
  EXPECT_EQ(DegreeIn([](Expr x, Expr y, Axis) { return Exp(y) * x; }), 1);
  EXPECT_EQ(DegreeIn([](Expr x, Expr y, Axis) { return Tanh(x / (x * y)); }), 0);
  EXPECT_EQ(DegreeIn([](Expr x, Expr, Axis) { return Exp(x); }), std::nullopt);
  EXPECT_EQ(DegreeIn([](Expr x, Expr, Axis) { return Sqrt(x); }), std::nullopt) << "half a power";
  EXPECT_EQ(DegreeIn([](Expr x, Expr y, Axis n) { return Recur(y, x, n); }), 1);
  EXPECT_EQ(DegreeIn([](Expr x, Expr y, Axis n) { return Recur(x, y, n); }), std::nullopt);
  EXPECT_EQ(DegreeIn([](Expr x, Expr, Axis n) { return CumSum(x, n); }), 1);
}

TEST(Degree, OfWhatIsMovedSelectedOrStored) {
  EXPECT_EQ(DegreeIn([](Expr x, Expr, Axis n) { return At(x, n, n, [](int64_t i) { return i - 1; }); }), 1);
  EXPECT_EQ(DegreeIn([](Expr x, Expr, Axis n) { return TopK(x, n, AddAxis(*x.graph, "k", 2), {}).values; }), 1);
  EXPECT_EQ(DegreeIn([](Expr x, Expr, Axis n) { return TopK(x, n, AddAxis(*x.graph, "k", 2), {}).places; }), 0);
  EXPECT_EQ(DegreeIn([](Expr x, Expr, Axis) { return Round(x, DType::kBF16); }), std::nullopt);
}

}  // namespace
}  // namespace assay::formula
