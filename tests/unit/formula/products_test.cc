// SPDX-License-Identifier: Apache-2.0
// Products of several factors, which kernels multiply in any order.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/formula/evaluate.h"
#include "ops/formula/expr.h"
#include "ops/formula/rules.h"

namespace assay::formula {
namespace {

constexpr double kInfinite = HUGE_VAL;

// a b c / d, one element each, in f32. `is_used`: something is computed from it.
class ProductsOf {
 public:
  ProductsOf(double a, double b, double c, double d, bool rearranges = true, bool is_used = false) {
    const Axis n = AddAxis(graph_, "n", 1);
    const Expr x = AddInput(graph_, "a", n), y = AddInput(graph_, "b", n);
    const Expr z = AddInput(graph_, "c", n), w = AddInput(graph_, "d", n);
    const Expr product = x * y * z / w;
    AddOutput(graph_, "y", is_used ? Abs(product) : product, n);
    const std::vector<std::vector<double>> inputs = {{a}, {b}, {c}, {d}};
    ErrorRules rules[] = {ContractRules(ParseDeclaration("f32;math=1").value(), std::vector(4, DType::kF32), false)};
    rules[0].rearranges = rearranges;
    const Evaluation got = Evaluate(graph_, graph_.outputs[0], inputs, false, rules);
    value = got.value[0], reach = got.reach[0][0], beside = BesideAt(got, 0, 0);
  }
  double value = 0, reach = 0;
  Beside beside = kNothingBeside;

 private:
  Graph graph_;
};

// The largest distance from the exact value `y` of a product in f32, over all orders.
double FarthestOrder(float a, float b, float c, float d, double y) {
  const float orders[] = {a * b * c / d,   a * c * b / d,   b * c * a / d,     a / d * b * c,
                          b / d * (a * c), c / d * (a * b), (a / d) * (b * c), b / d * c * a};
  double farthest = 0;
  for (const float order : orders) farthest = std::max(farthest, std::fabs(order - y));
  return farthest;
}

TEST(Products, OrdinaryFactorsCostNothing) {
  const ProductsOf with(3, -0.7, 1e10, 1e-5), without(3, -0.7, 1e10, 1e-5, false);
  EXPECT_EQ(with.reach, without.reach);
  EXPECT_GT(with.reach, 0);
}

// a c and a / d. All orders have the product or infinity.
TEST(Products, OrdersThatOverflowGiveInfinity) {
  for (const ProductsOf& of : {ProductsOf(1e30, 1e-30, 1e30, 1), ProductsOf(1e30, 1e-30, 1, 1e-20)}) {
    EXPECT_EQ(of.beside, kBesideInfinity);
    EXPECT_LT(of.reach, 1e-5 * of.value);
  }
  const ProductsOf within(1e18, 1e-30, 1e18, 1);
  EXPECT_EQ(within.beside, kNothingBeside);
  EXPECT_LT(within.reach, 1e-5 * within.value);
}

TEST(Products, OrdersThatOverflowAreOpenToWhatIsComputedFromThem) {
  EXPECT_EQ(ProductsOf(1e30, 1e-30, 1e30, 1, true, true).reach, kInfinite);
  EXPECT_LT(ProductsOf(1e18, 1e-30, 1e18, 1, true, true).reach, 1e3);
}

// a b is zero where a c is infinite: zero, NaN and all between are results of some order.
TEST(Products, OrdersThatVanishAndOverflowAreOpen) {
  EXPECT_EQ(ProductsOf(1e-30, 1e-30, 1e30, 1e-30).reach, kInfinite);
}

TEST(Products, OfDivisorsEndAProductWhereTheyLeaveTheRange) {
  Graph graph;
  const Axis n = AddAxis(graph, "n", 1);
  const Expr a = AddInput(graph, "a", n), b = AddInput(graph, "b", n), c = AddInput(graph, "c", n);
  AddOutput(graph, "y", a / b / c, n);
  ErrorRules rules[] = {ContractRules(ParseDeclaration("f32;math=1").value(), std::vector(3, DType::kF32), false)};
  const auto reach_of = [&](double x, double y, double z) {
    return Evaluate(graph, graph.outputs[0], std::vector<std::vector<double>>{{x}, {y}, {z}}, false, rules).reach[0][0];
  };
  EXPECT_EQ(reach_of(1e30, 1e20, 1e20), kInfinite) << "a / (b c) is 0";
  EXPECT_EQ(reach_of(1e-30, 1e-25, 1e-25), kInfinite) << "a / (b c) is infinite";
  EXPECT_LT(reach_of(1e30, 1e20, 1e10), 1e-5);
}

// The bound allows for the digits that an order loses below the normal numbers, times the factors behind.
TEST(Products, OrdersThatUnderflowAreWithinTheBound) {
  const double small = 1e-20F, smaller = 3e-22F;
  const double large = 1e25F;
  const ProductsOf of(small, large, smaller, 1), as_written(small, large, smaller, 1, false);
  const double farthest = FarthestOrder(1e-20F, 1e25F, 3e-22F, 1, of.value);
  EXPECT_GT(farthest, 2 * as_written.reach) << "a c loses digits, and no other order does";
  EXPECT_GE(of.reach, farthest);
  EXPECT_LT(of.reach, 100 * farthest);
}

TEST(Products, ZeroInfinityAndNaNStayCertain) {
  EXPECT_EQ(ProductsOf(0, 1e30, 1e-30, 1).reach, 0);
  const ProductsOf nan(std::nan(""), 1e30, 1e30, 1), of_zero(0, kInfinite, 1e30, 1);
  EXPECT_TRUE(std::isnan(nan.value) && std::isnan(of_zero.value));
  EXPECT_EQ(nan.reach, 0);
  EXPECT_EQ(of_zero.reach, 0);
  EXPECT_EQ(ProductsOf(1e30, 1e-30, 1e30, std::nan("")).reach, 0) << "NaN, whatever a c is";
  EXPECT_EQ(ProductsOf(kInfinite, 1e-10, 2, 1).reach, 0);
  EXPECT_EQ(ProductsOf(kInfinite, 1e-30, 1e-30, 1).beside, kBesideNan) << "b c may be zero";
  EXPECT_EQ(ProductsOf(kInfinite, 1e-10, 2, 1).beside, kNothingBeside);
  EXPECT_EQ(ProductsOf(0, 1e30, 1e30, 1).beside, kBesideNan) << "zero times b c, which overflows";
  EXPECT_EQ(ProductsOf(0, 1e30, 1e30, 1).reach, 0);
}

}  // namespace
}  // namespace assay::formula
