// SPDX-License-Identifier: Apache-2.0
// Operators of the tables in ops/defs/elementwise.cc: what generic tests of formulas do not see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/formula_operator/formula_operator.h"
#include "tests/support/operator_cases.h"

namespace assay {
namespace {

using test::Bind;
using test::Op;
using test::TryBind;
using testing::HasSubstr;

std::vector<double> GoldenOf(const std::string& id, const std::vector<std::vector<double>>& values) {
  const Problem problem = Bind(id);
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < values.size(); ++k) {
    inputs.emplace_back(problem.inputs[k].dtype, problem.inputs[k].shape);
    inputs.back().SetDoubles(values[k]);
  }
  return Op(problem.spec.op).ComputeGolden(problem, 0, inputs, Tier::kFast).value;
}

TEST(Elementwise, OperandsAreBroadcastAlongRowsAndColumns) {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(GoldenOf("sub/f32/n=6/fill=normal/seed=0", {x, {1, 1, 1, 2, 2, 2}}),
            (std::vector<double>{0, 1, 2, 2, 3, 4}));
  EXPECT_EQ(GoldenOf("sub/f32/n=3,per=row,rows=2/fill=normal/seed=0", {x, {1, 4}}),
            (std::vector<double>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(GoldenOf("sub/f32/n=3,per=column,rows=2/fill=normal/seed=0", {x, {1, 2, 3}}),
            (std::vector<double>{0, 0, 0, 3, 3, 3}));
  EXPECT_EQ(GoldenOf("sub/f32/n=3,per=tensor,rows=2/fill=normal/seed=0", {x, {1}}),
            (std::vector<double>{0, 1, 2, 3, 4, 5}));
}

TEST(Elementwise, OperandsThatAreBroadcastMayHaveNoElements) {
  for (const char* per : {"row", "column", "tensor"}) {
    const Problem rowless = Bind(std::string("add/f32/n=3,per=") + per + ",rows=0/fill=normal/seed=0");
    EXPECT_EQ(rowless.outputs[0].shape, (Shape{0, 3})) << per;
    const Problem empty = Bind(std::string("add/f32/n=0,per=") + per + ",rows=2/fill=normal/seed=0");
    EXPECT_EQ(empty.outputs[0].shape, (Shape{2, 0})) << per;
  }
}

TEST(Elementwise, IntegersWrapAround) {
  EXPECT_EQ(GoldenOf("add/i8/n=2/fill=normal/seed=0", {{127, -128}, {1, -1}}), (std::vector<double>{-128, 127}));
  EXPECT_EQ(GoldenOf("mul/i32/n=1/fill=normal/seed=0", {{65536}, {65537}}), (std::vector<double>{65536}));
  EXPECT_EQ(GoldenOf("neg/u8/n=2/fill=normal/seed=0", {{1, 0}}), (std::vector<double>{255, 0}));
  EXPECT_EQ(GoldenOf("abs/i8/n=2/fill=normal/seed=0", {{-128, -127}}), (std::vector<double>{-128, 127}));
  EXPECT_EQ(GoldenOf("sign/i8/n=3/fill=normal/seed=0", {{-128, 0, 127}}), (std::vector<double>{-1, 0, 1}));
  EXPECT_EQ(GoldenOf("cast/i32-i8/n=2/fill=normal/seed=0", {{300, -129}}), (std::vector<double>{44, 127}));
}

TEST(Elementwise, RoundingGoesWhereItsNameSays) {
  const std::vector<double> x = {-2.5, -1.5, -0.5, 0.5, 1.5, 2.75};
  EXPECT_EQ(GoldenOf("floor/f32/n=6/fill=normal/seed=0", {x}), (std::vector<double>{-3, -2, -1, 0, 1, 2}));
  EXPECT_EQ(GoldenOf("ceil/f32/n=6/fill=normal/seed=0", {x}), (std::vector<double>{-2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(GoldenOf("trunc/f32/n=6/fill=normal/seed=0", {x}), (std::vector<double>{-2, -1, 0, 0, 1, 2}));
  EXPECT_EQ(GoldenOf("round/f32/n=6/fill=normal/seed=0", {x}), (std::vector<double>{-2, -2, 0, 0, 2, 3}));
}

TEST(Elementwise, CastsHaveEveryPairOfTypesThatHasOneAnswer) {
  const auto& pairs = dynamic_cast<const FormulaOperator&>(Op("cast")).types();
  EXPECT_EQ(pairs.size(), 4U * 3 + 5 * (4 + 4) + 4 + 5);
  EXPECT_EQ(GoldenOf("cast/i64-u8/n=2/fill=normal/seed=0", {{-1, 257}}), (std::vector<double>{255, 1}));
  EXPECT_EQ(GoldenOf("cast/u8-i8/n=2/fill=normal/seed=0", {{127, 128}}), (std::vector<double>{127, -128}));
  EXPECT_EQ(GoldenOf("cast/f64-bf16/n=1/fill=normal/seed=0", {{1 + 0x1p-20}}), (std::vector<double>{1 + 0x1p-20}));
  EXPECT_EQ(GoldenOf("cast/bool-i64/n=2/fill=normal/seed=0", {{1, 0}}), (std::vector<double>{1, 0}));
  for (const char* id : {"cast/f32-i32/n=2/fill=normal/seed=0", "cast/i32-bool/n=2/fill=normal/seed=0"}) {
    EXPECT_FALSE(TryBind(id).has_value()) << id;
  }
}

TEST(Elementwise, NanMayLoseWhereTheContractSaysSo) {
  const double nan = std::nan("");
  const Problem problem = Bind("maximum/f32/n=3,per=row,rows=2/fill=normal/seed=0");
  std::vector<Tensor> inputs;
  for (const Operand& input : problem.inputs) inputs.emplace_back(input.dtype, input.shape);
  inputs[0].SetDoubles(std::vector<double>{1, nan, 3, nan, 5, 6});
  inputs[1].SetDoubles(std::vector<double>{2, nan});
  const Golden golden = Op("maximum").ComputeGolden(problem, 0, inputs, Tier::kFast);
  for (const char* contract : {"f32", "f32;nan=ignore", "f32;nan=any"}) {
    SCOPED_TRACE(contract);
    const bool may_lose = std::string(contract) != "f32";
    const test::DeclaredBound bound = test::BoundOf(problem, golden, contract);
    EXPECT_TRUE(test::Accepts(bound, golden, 0, 2));
    EXPECT_FALSE(test::Accepts(bound, golden, 0, 1));
    EXPECT_EQ(test::Accepts(bound, golden, 1, 2), may_lose);  // x is NaN
    EXPECT_FALSE(test::Accepts(bound, golden, 1, 1));
    EXPECT_FALSE(test::Accepts(bound, golden, 3, 2)) << "both are NaN";
    EXPECT_EQ(test::Accepts(bound, golden, 4, 5), may_lose);  // y is NaN
    for (const int64_t i : {1, 3, 4}) EXPECT_TRUE(test::Accepts(bound, golden, i, static_cast<float>(nan)));
  }
}

// Otherwise no case would tell a comparison from one without its equal sign, or a test for NaN from zeros.
TEST(Elementwise, ConditionsHoldForAboutHalfOfTheElements) {
  for (const char* id : {"equal/f32-f32-bool/n=200/fill=normal/seed=0", "not_equal/i8-i8-bool/n=200/fill=normal/seed=0",
                         "equal/i64-i64-bool/n=200/fill=normal/seed=1", "isnan/bf16-bool/n=600/fill=uniform/seed=0",
                         "isfinite/f32-bool/n=200/fill=normal/seed=0"}) {
    const Problem problem = Bind(id);
    const std::vector<Tensor> inputs = Op(problem.spec.op).MakeInputs(problem);
    const std::vector<double> y = Op(problem.spec.op).ComputeGolden(problem, 0, inputs, Tier::kFast).value;
    const double share = static_cast<double>(std::ranges::count(y, 1.0)) / static_cast<double>(y.size());
    EXPECT_GT(share, 0.1) << id;
    EXPECT_LT(share, 0.9) << id;
  }
}

// An operand that is one number for a row has the first one of it, where they are to be equal.
TEST(Elementwise, ComparedNumbersAreEqualWhereOperandsAreBroadcast) {
  for (const char* per : {"row", "column", "tensor"}) {
    const Problem problem = Bind(std::string("equal/f32-f32-bool/n=7,per=") + per + ",rows=9/fill=normal/seed=0");
    const std::vector<Tensor> inputs = Op("equal").MakeInputs(problem);
    const std::vector<double> y = Op("equal").ComputeGolden(problem, 0, inputs, Tier::kFast).value;
    EXPECT_EQ(y[0], 1) << per;
    EXPECT_LE(std::ranges::count(y, 1.0), 5) << per;
  }
}

TEST(Elementwise, ANumberBesideNoElementsIsTheFillsOwn) {
  const Problem problem = Bind("equal/f32-f32-bool/n=0,per=tensor,rows=3/fill=uniform/seed=0");
  const std::vector<Tensor> inputs = Op("equal").MakeInputs(problem);
  EXPECT_EQ(inputs[0].size(), 0);
  ASSERT_EQ(inputs[1].size(), 1);
  EXPECT_LT(std::fabs(inputs[1].ToDoubles()[0]), 2);
}

TEST(Elementwise, MessagesSayWhatIsPossible) {
  const auto refusal = [](const char* id) {
    const auto problem = TryBind(id);
    return problem ? "none" : problem.error().message;
  };
  EXPECT_THAT(refusal("add/f32/n=6,rows=2/fill=normal/seed=0"), HasSubstr("rows must be 1 with per=element"));
  EXPECT_THAT(refusal("clip/f32/n=6,low=1,high=-1/fill=normal/seed=0"), HasSubstr("low must be below high"));
  EXPECT_THAT(refusal("div/i64/n=6/fill=normal/seed=0"), HasSubstr("possible are"));
}

}  // namespace
}  // namespace assay
