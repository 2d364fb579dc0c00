// SPDX-License-Identifier: Apache-2.0
// Legal results at the far end of a contract's slack, each worked out by hand.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

Tensor Filled(const Operand& operand, double value) {
  Tensor x(operand.dtype, operand.shape);
  x.SetDoubles(std::vector<double>(static_cast<size_t>(x.size()), value));
  return x;
}

// log(64 exp(x)) vanishes at x = -log 64, where bf16 moves x and with it the result by 2^-9 |x|.
TEST(Slack, LogSumExpOfRoundedInputsIsNotRelativeToTheResult) {
  const Problem problem = Bind("reduce/f32/shape=1x64,axes=1,kind=logsumexp/fill=normal/seed=0");
  const double x = -std::log(64.0) * (1 + 0x1p-10);
  std::vector<Tensor> inputs;
  inputs.push_back(Filled(problem.inputs[0], x));
  const Golden golden = Op("reduce").ComputeGolden(problem, 0, inputs, Tier::kFast);
  const Contract contract = Declared("in=bf16;acc=f32;math=1");
  const DeclaredBound bound = BoundOf(problem, golden, contract);
  const double rounded = std::log(64.0) + RoundTo(FormatOf(DType::kBF16), x);
  ASSERT_GT(std::abs(rounded - golden.value[0]), 1e-3);
  EXPECT_TRUE(Accepts(bound, golden, 0, rounded));
  EXPECT_EQ(InputRoundoff(contract, DType::kBF16), 0) << "exact on the type";
}

// Half of the bias is not lost in sums that flush nothing: f16 holds every number on the way.
TEST(Slack, AnEpilogueThatFlushesNothingLosesNoSmallBias) {
  const struct {
    const char *op, *id;
  } cases[] = {{"matmul", "matmul/f16/m=1,n=1,k=4,bias=1/fill=normal/seed=0"},
               {"conv", "conv/f16/n=1,c=4,o=1,i=1,k=1,bias=1/fill=normal/seed=0"}};
  for (const auto& [name, id] : cases) {
    const Problem problem = Bind(id);
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < 3; ++i) inputs.push_back(Filled(problem.inputs[i], i == 0 ? 0.0625 : 0.015625));
    inputs[2] = Filled(problem.inputs[2], 0.0005);
    const Golden golden = Op(name).ComputeGolden(problem, 0, inputs, Tier::kFast);
    const DeclaredBound bound = BoundOf(problem, golden, "f16acc");
    const FloatFormat& f16 = FormatOf(DType::kF16);
    EXPECT_TRUE(Accepts(bound, golden, 0, RoundTo(f16, golden.value[0]))) << id;
    EXPECT_FALSE(Accepts(bound, golden, 0, RoundTo(f16, 0.00415802))) << id;
    EXPECT_TRUE(Accepts(BoundOf(problem, golden, "f16acc;ftz=all"), golden, 0, RoundTo(f16, 0.00415802))) << id;
  }
}

// The sum of two numbers rounds once: in units of 2 u of it, and of the output, which is f32 here. Three are 2 u more.
TEST(Slack, SumsOfAFewTermsRoundAsOftenAsTheyAdd) {
  const double u = 0x1p-24;
  const auto tolerance = [&](const std::string& id, const char* contract) {
    const Problem problem = Bind(id);
    std::vector<Tensor> inputs;
    for (const Operand& operand : problem.inputs) inputs.push_back(Filled(operand, 1));
    const Golden golden = Op(problem.spec.op).ComputeGolden(problem, 0, inputs, Tier::kFast);
    const DeclaredBound bound = BoundOf(problem, golden, contract);
    return (bound.At(golden, 0) - golden.error[0]) / golden.magnitude[0] / u;
  };
  const double near = 1e-3;
  EXPECT_NEAR(tolerance("reduce/f32/shape=1x1,axes=1/fill=normal/seed=0", "acc=f32"), 0, near);
  EXPECT_NEAR(tolerance("reduce/f32/shape=1x2,axes=1/fill=normal/seed=0", "acc=f32"), 2, near);
  EXPECT_NEAR(tolerance("reduce/f32/shape=1x3,axes=1/fill=normal/seed=0", "acc=f32"), 4, near);
  EXPECT_NEAR(tolerance("reduce/f32/shape=1x2,axes=1/fill=normal/seed=0", "acc=f16") / 0x1p13, 4, 1e-1) << "converted";
  const std::string product = "matmul/f32/m=1,n=1,k=2";
  EXPECT_NEAR(tolerance(product + "/fill=normal/seed=0", "acc=f32"), 4, near);
  EXPECT_NEAR(tolerance(product + ",bias=1/fill=normal/seed=0", "acc=f32"), 6, near);
  EXPECT_NEAR(tolerance(product + ",alpha=2/fill=normal/seed=0", "acc=f32"), 6, near);
  EXPECT_NEAR(tolerance(product + ",alpha=2,beta=2,bias=1/fill=normal/seed=0", "acc=f32"), 10, near);
  EXPECT_NEAR(tolerance("conv/f32/n=1,c=2,o=1,i=1,k=1,bias=1/fill=normal/seed=0", "acc=f32"), 6, near);
}

// Selections of rows without a subnormal winner stay exact where subnormals are flushed.
TEST(Slack, FlushingLeavesOtherWinnersExact) {
  const Problem problem = Bind("reduce/f32/shape=1x4,axes=1,kind=max/fill=normal/seed=0");
  std::vector<Tensor> inputs;
  inputs.push_back(Filled(problem.inputs[0], 1));
  const Golden golden = Op("reduce").ComputeGolden(problem, 0, inputs, Tier::kFast);
  const DeclaredBound bound = BoundOf(problem, golden, "f32;ftz=all");
  EXPECT_TRUE(Accepts(bound, golden, 0, 1));
  EXPECT_FALSE(Accepts(bound, golden, 0, 1 + 0x1p-23));
}

TEST(Slack, LosingNanIsNotWhatASelectionOfNanAsksFor) {
  const auto fields = [](const char* id) {
    const Problem problem = Bind(id);
    return Op("reduce").TraitsOf(problem, 0).required_fields;
  };
  EXPECT_EQ(fields("reduce/f32/shape=8x8,axes=1,kind=max/fill=special/seed=0"), "mid=none;nan=propagate");
  EXPECT_EQ(fields("reduce/f32-i64/shape=8x8,axes=1,kind=argmin,nan=ignore/fill=special/seed=0"),
            "mid=none;nan=ignore");
  EXPECT_EQ(fields("reduce/f32/shape=8x8,axes=1,kind=max/fill=normal/seed=0"), "mid=none") << "no NaN to lose";
  EXPECT_EQ(fields("reduce/f32/shape=8x8,axes=1/fill=special/seed=0"), "mid=none");
}

TEST(Slack, LosingNanIsNotWhatALargerNumberOfTwoAsksFor) {
  const auto fields = [](const char* id) {
    const Problem problem = Bind(id);
    return Op(problem.spec.op).TraitsOf(problem, 0).required_fields;
  };
  EXPECT_EQ(fields("maximum/f32/n=8/fill=special/seed=0"), "nan=propagate");
  EXPECT_EQ(fields("minimum/bf16/n=8,per=row,rows=3/fill=special/seed=0"), "nan=propagate");
  EXPECT_EQ(fields("maximum/f32/n=8/fill=normal/seed=0"), "") << "no NaN to lose";
  EXPECT_EQ(fields("maximum/i32/n=8/fill=extremes/seed=0"), "");
  EXPECT_EQ(fields("add/f32/n=8/fill=special/seed=0"), "");
}

TEST(Slack, SumsHaveNoUseFor16BitIntermediates) {
  for (const char* id : {"matmul/bf16/m=2,n=2,k=8/fill=normal/seed=0", "reduce/f16/shape=2x8,axes=1/fill=normal/seed=0",
                         "conv/bf16/n=1,c=2,o=2,i=4x4,k=3x3/fill=normal/seed=0"}) {
    const Problem problem = Bind(id);
    const std::string asked = "f32acc;out=rn;" + Op(problem.spec.op).TraitsOf(problem, 0).required_fields;
    const Contract required = ParseRequirement(asked).value();
    EXPECT_TRUE(Meets(Declared("f32acc"), required)) << id;
    EXPECT_FALSE(Meets(Declared("f32acc;mid=bf16"), required)) << id;
    EXPECT_FALSE(Meets(Declared("f32acc;mid=f16"), required)) << id;
  }
  EXPECT_EQ(Op("softmax").TraitsOf(Bind("softmax/bf16/shape=2x8/fill=normal/seed=0"), 0).required_fields, "")
      << "normal practice";
}

const auto kNan = std::numeric_limits<double>::quiet_NaN();

Golden Reduced(const Problem& problem, const std::vector<double>& x) {
  std::vector<Tensor> inputs;
  inputs.emplace_back(problem.inputs[0].dtype, problem.inputs[0].shape);
  inputs[0].SetDoubles(x);
  return Op("reduce").ComputeGolden(problem, 0, inputs, Tier::kFast);
}

// nan=any leaves open whether NaN wins or loses, not what the others make.
TEST(Slack, AnyNanPolicyOfASelectionIsOneOfTheTwo) {
  const Contract any = Declared("f32;nan=any");
  for (const char* policy : {"", ",nan=ignore"}) {
    const Problem max = Bind(fmt::format("reduce/f32/shape=2x4,axes=1,kind=max{}/fill=special/seed=0", policy));
    const Golden golden = Reduced(max, {-5, kNan, -3, -4, 1, 2, 3, 4});
    const DeclaredBound bound = BoundOf(max, golden, any);
    EXPECT_TRUE(Accepts(bound, golden, 0, kNan)) << policy;
    EXPECT_TRUE(Accepts(bound, golden, 0, -3)) << policy;
    EXPECT_FALSE(Accepts(bound, golden, 0, -4)) << policy << ": what came before NaN is lost";
    EXPECT_FALSE(Accepts(bound, golden, 0, HUGE_VAL)) << policy;
    EXPECT_FALSE(Accepts(bound, golden, 1, kNan)) << policy << ": no NaN in that row";
    EXPECT_FALSE(Accepts(bound, golden, 1, 3)) << policy;

    const Problem arg = Bind(fmt::format("reduce/f32-i64/shape=1x4,axes=1,kind=argmin{}/fill=special/seed=0", policy));
    const Golden index = Reduced(arg, {-5, kNan, -3, -6});
    const DeclaredBound of_index = BoundOf(arg, index, any);
    EXPECT_TRUE(Accepts(of_index, index, 0, 1)) << policy;
    EXPECT_TRUE(Accepts(of_index, index, 0, 3)) << policy;
    EXPECT_FALSE(Accepts(of_index, index, 0, 0)) << policy;
  }
  const Problem sum = Bind("reduce/f32/shape=1x4,axes=1/fill=special/seed=0");
  const Golden golden = Reduced(sum, {1, kNan, 2, 3});
  EXPECT_TRUE(Accepts(BoundOf(sum, golden, any), golden, 0, kNan));
  EXPECT_FALSE(Accepts(BoundOf(sum, golden, any), golden, 0, 6)) << "a sum has one way to treat NaN";
}

// A unit that flushes sees zeros: any of their indices, but an index.
TEST(Slack, FlushedWinnersAreAnIndexOfTheRow) {
  const Problem problem = Bind("reduce/f32-i64/shape=1x4,axes=1,kind=argmax/fill=normal/seed=0");
  const Golden golden = Reduced(problem, {0x1p-140, 0x1p-130, -1, 0});
  const DeclaredBound bound = BoundOf(problem, golden, "f32;ftz=all");
  EXPECT_TRUE(Accepts(bound, golden, 0, 0));
  EXPECT_FALSE(Accepts(bound, golden, 0, 4));
  EXPECT_FALSE(Accepts(bound, golden, 0, -1));
  EXPECT_FALSE(Accepts(BoundOf(problem, golden, "f32"), golden, 0, 0));
}

// A flushed subnormal makes infinity times it NaN, and nothing else.
TEST(Slack, FlushedInfinityIsNan) {
  const Problem problem = Bind("matmul/f32/m=1,n=1,k=2/fill=special/seed=0");
  std::vector<Tensor> inputs;
  for (int i : {0, 1}) inputs.emplace_back(DType::kF32, problem.inputs[i].shape);
  inputs[0].SetDoubles(std::vector<double>{HUGE_VAL, 1});
  inputs[1].SetDoubles(std::vector<double>{0x1p-140, 1});
  const Golden golden = Op("matmul").ComputeGolden(problem, 0, inputs, Tier::kFast);
  const DeclaredBound bound = BoundOf(problem, golden, "f32;ftz=in");
  EXPECT_TRUE(Accepts(bound, golden, 0, HUGE_VAL));
  EXPECT_TRUE(Accepts(bound, golden, 0, kNan));
  EXPECT_FALSE(Accepts(bound, golden, 0, -HUGE_VAL));
  EXPECT_EQ(bound.AlsoAt(0), kAlsoNan);
  EXPECT_FALSE(bound.IsAlsoRight(0, DType::kF32, golden.value[0], 1));
  EXPECT_FALSE(Accepts(BoundOf(problem, golden, "f32"), golden, 0, kNan));
}

// 0 * infinity in the padding is NaN where it is multiplied; where it is skipped the other taps decide.
TEST(Slack, PaddedInfinityIsSkippedOrNan) {
  const Problem problem = Bind("conv/f32/n=1,c=1,o=1,i=3,k=3,pad=1/fill=special/seed=0");
  for (Tier tier : {Tier::kFast, Tier::kReproducible}) {
    std::vector<Tensor> inputs;
    for (int i : {0, 1}) inputs.emplace_back(DType::kF32, problem.inputs[i].shape);
    inputs[0].SetDoubles(std::vector<double>{1, 2, 3});
    inputs[1].SetDoubles(std::vector<double>{HUGE_VAL, 5, 7});
    const Golden golden = Op("conv").ComputeGolden(problem, 0, inputs, tier);
    const DeclaredBound bound = BoundOf(problem, golden, "f32");
    EXPECT_TRUE(Accepts(bound, golden, 0, 19)) << "1 * 5 + 2 * 7";
    EXPECT_TRUE(Accepts(bound, golden, 0, kNan));
    EXPECT_FALSE(Accepts(bound, golden, 0, 20));
    EXPECT_FALSE(Accepts(bound, golden, 0, HUGE_VAL));
    EXPECT_FALSE(Accepts(bound, golden, 1, kNan)) << "nothing padded: 1 * inf + ...";
    EXPECT_TRUE(Accepts(bound, golden, 1, HUGE_VAL));
  }
}

// The product is just below f16's overflow threshold and an accumulator in f16 can be above it.
TEST(Slack, RoundedProductMayOverflowThroughItsOwnError) {
  const Problem problem = Bind("matmul/f16/m=1,n=1,k=64,bias=1,epilogue=rounded/fill=normal/seed=0");
  std::vector<Tensor> inputs;
  inputs.push_back(Filled(problem.inputs[0], 32));
  inputs.push_back(Filled(problem.inputs[1], 31));  // 63,488
  inputs.push_back(Filled(problem.inputs[2], -60000));
  const Golden golden = Op("matmul").ComputeGolden(problem, 0, inputs, Tier::kFast);
  EXPECT_TRUE(Accepts(BoundOf(problem, golden, "f16acc"), golden, 0, HUGE_VAL));
  EXPECT_FALSE(Accepts(BoundOf(problem, golden, "f32acc"), golden, 0, HUGE_VAL));
}

// Kernels round before they multiply by alpha, or afterwards: what is too large for f16 is alpha a b, or a b.
TEST(Slack, RoundedProductMayOverflowOnEitherSideOfAlpha) {
  const auto accepts_infinity = [](const char* alpha, double a, double b) {
    const Problem problem =
        Bind(fmt::format("matmul/f16/m=1,n=1,k=64,alpha={},beta=1,epilogue=rounded/fill=normal/seed=0", alpha));
    std::vector<Tensor> inputs;
    inputs.push_back(Filled(problem.inputs[0], a));
    inputs.push_back(Filled(problem.inputs[1], b));
    inputs.push_back(Filled(problem.inputs[2], 60000));
    const Golden golden = Op("matmul").ComputeGolden(problem, 0, inputs, Tier::kFast);
    EXPECT_TRUE(Accepts(BoundOf(problem, golden, "f32acc"), golden, 0, golden.value[0]));
    return Accepts(BoundOf(problem, golden, "f32acc"), golden, 0, -HUGE_VAL);
  };
  EXPECT_TRUE(accepts_infinity("-2", 32, 20)) << "-2 * 40,960";
  EXPECT_FALSE(accepts_infinity("-2", 32, 15)) << "-2 * 30,720";
  EXPECT_TRUE(accepts_infinity("0.5", -32, 40)) << "-81,920";
  EXPECT_FALSE(accepts_infinity("0.5", -32, 30)) << "-61,440";
}

}  // namespace
}  // namespace assay::test
