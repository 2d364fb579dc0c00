// SPDX-License-Identifier: Apache-2.0
// Functions whose results are integers: exact of exact operands, and as many steps off as an error may pass.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/core/data/fill/rng.h"
#include "harness/core/data/infinity.h"
#include "ops/formula/evaluate.h"
#include "ops/formula/expr.h"
#include "ops/formula/functions.h"
#include "ops/formula/rules.h"
#include "tests/support/formula/exact.h"

namespace assay::formula {
namespace {

double ValueOf(Function function, double x, double y = 1) {
  double z = 0;
  MapValues(function, {&x, &y}, &z, 1);
  return z;
}

TEST(Steps, NearestTakesTheEvenOneOfTwo) {
  for (const auto& [x, z] : {std::pair{0.5, 0.0}, {1.5, 2.0}, {2.5, 2.0}, {-0.5, -0.0}, {-1.5, -2.0}, {2.4999, 2.0}})
    EXPECT_EQ(ValueOf(Function::kNearest, x), z) << x;
}

// 3 / 0.1 rounds to 30, but 0.1 is a little more than a tenth.
TEST(Steps, QuotientsThatRoundUpToAnInteger) {
  EXPECT_EQ(3 / 0.1, 30);
  EXPECT_EQ(ValueOf(Function::kFloorDivide, 3, 0.1), 29);
  EXPECT_EQ(ValueOf(Function::kFloorDivide, -7, 2), -4);
  EXPECT_EQ(ValueOf(Function::kFloorDivide, -8, 2), -4);
  EXPECT_EQ(ValueOf(Function::kFloorDivide, 7, -2), -4);
  EXPECT_EQ(ValueOf(Function::kFloorDivide, 5, kInfinity), 0);
  EXPECT_EQ(ValueOf(Function::kFloorDivide, -5, kInfinity), -1);
  EXPECT_TRUE(std::isnan(ValueOf(Function::kFloorDivide, std::nan(""), 2)));
}

// Low parts decide beside an integer and beside a tie.
TEST(Steps, DoubleDoubleAndBinary128AgreeWithFourHundredBits) {
  const RandomStream random(3, 1);
  for (uint64_t i = 0; i < 2000; ++i) {
    const double x = std::floor(static_cast<double>(random.Below(3 * i, 1000)) - 500) / 2;
    const double lo = static_cast<double>(random.Below(3 * i + 1, 3)) * 0x1p-60 - 0x1p-60, zero = 0;
    const double y = static_cast<double>(random.Below(3 * i + 2, 7)) + 0.5;
    for (const Function function : {Function::kNearest, Function::kFloorDivide}) {
      double hi = 0, low = 0;
      MapValuesDD(function, {&x, &y}, {&lo, &zero}, &hi, &low, 1);
      test::Real at = x;
      mpfr_add_d(at.x, at.x, lo, MPFR_RNDN);
      const test::Real divisor = y;
      const test::Real* operands[] = {&at, &divisor};
      EXPECT_EQ(test::ExactMap(function, {operands, function == Function::kNearest ? size_t{1} : size_t{2}})
                    .DistanceFrom(hi, low),
                0)
          << Info(function).name << " " << x << " + " << lo << ", " << y;
    }
  }
}

TEST(Steps, ErrorsPassAsManyStepsAsTheyReach) {
  const auto curve = [](Function function, double x, double reach_x, double y = 1, double reach_y = 0) {
    double z = ValueOf(function, x, y), slope[2] = {}, found = 0, amplify = 0;
    MapSlopes(function, {&x, &y}, {&reach_x, &reach_y}, &z, -1, {{&slope[0], &slope[1]}, &found, &amplify}, 1);
    EXPECT_EQ(slope[0], 0);
    return found;
  };
  EXPECT_EQ(curve(Function::kNearest, 0.5, 0), 0);
  EXPECT_EQ(curve(Function::kNearest, 0.4, 0.05), 0);
  EXPECT_EQ(curve(Function::kNearest, 0.49, 0.05), 1);
  EXPECT_EQ(curve(Function::kNearest, 10, 2.6), 3);
  EXPECT_EQ(curve(Function::kFloorDivide, 6.9, 0.05, 1), 0);
  EXPECT_EQ(curve(Function::kFloorDivide, 7, 0.05, 1), 1);
  EXPECT_EQ(curve(Function::kFloorDivide, 100, 0, 10, 0.1), 1);
  EXPECT_EQ(curve(Function::kFloorDivide, 100, 0, 0.5, 0.6), kInfinity) << "a divisor that may be zero";
}

// x - 4 floor(x / 4) of integers in bf16 is exact; of a sum that rounds it is off by a whole period, or by the
// rounding.
TEST(Steps, IntegersStayExact) {
  const auto reach = [](bool rounds) {
    Graph graph;
    const Axis n = AddAxis(graph, "n", 3);
    const Expr x = AddInput(graph, "x", n);
    graph.nodes[static_cast<size_t>(x.id)].numbers = Numbers::kInteger;
    const Expr at = rounds ? x * 1.1 : x;
    AddOutput(graph, "z", at - 4.0 * FloorDivide(at, Const(graph, 4)), n);
    const ErrorRules rules[] = {ContractRules(ParseDeclaration("acc=f32;mid=bf16").value(), {DType::kI32}, false)};
    const std::vector<std::vector<double>> inputs = {{7, 100, -3}};
    const Evaluation got = Evaluate(graph, graph.outputs[0], inputs, false, rules);
    if (!rounds) {
      EXPECT_EQ(got.value, (std::vector<double>{3, 0, 1}));
    }
    return got.reach[0];
  };
  EXPECT_EQ(reach(false), (std::vector<double>{0, 0, 0}));
  for (const double one : reach(true)) EXPECT_GT(one, 0);
}

}  // namespace
}  // namespace assay::formula
