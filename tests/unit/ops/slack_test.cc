// SPDX-License-Identifier: Apache-2.0
// Legal results at the far end of a contract's slack, each worked out by hand.
#include <cmath>

#include "tests/unit/ops/cases.h"

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
  const Golden golden = Op("reduce").ComputeGolden(problem, inputs, Tier::kFast);
  const Contract contract = Declared("in=bf16;acc=f32;math=1");
  const BoundModel bound = Op("reduce").Bound(problem, golden, contract);
  const double rounded = std::log(64.0) + RoundTo(FormatOf(DType::kBF16), x);
  ASSERT_GT(std::abs(rounded - golden.value[0]), 1e-3);
  EXPECT_TRUE(Accepts(bound, golden, 0, rounded));
  EXPECT_EQ(InputRoundoff(contract, DType::kBF16), 0) << "exact on the type";
}

// Selections of rows without a subnormal winner stay exact where subnormals are flushed.
TEST(Slack, FlushingLeavesOtherWinnersExact) {
  const Problem problem = Bind("reduce/f32/shape=1x4,axes=1,kind=max/fill=normal/seed=0");
  std::vector<Tensor> inputs;
  inputs.push_back(Filled(problem.inputs[0], 1));
  const Golden golden = Op("reduce").ComputeGolden(problem, inputs, Tier::kFast);
  const BoundModel bound = Op("reduce").Bound(problem, golden, Declared("f32;ftz=all"));
  EXPECT_TRUE(Accepts(bound, golden, 0, 1));
  EXPECT_FALSE(Accepts(bound, golden, 0, 1 + 0x1p-23));
}

TEST(Slack, LosingNanIsNotWhatASelectionOfNanAsksFor) {
  const auto fields = [](const char* id) {
    const Problem problem = Bind(id);
    return Op("reduce").RequiredFields(problem);
  };
  EXPECT_EQ(fields("reduce/f32/shape=8x8,axes=1,kind=max/fill=special/seed=0"), "nan=propagate");
  EXPECT_EQ(fields("reduce/f32-i64/shape=8x8,axes=1,kind=argmin,nan=ignore/fill=special/seed=0"), "nan=ignore");
  EXPECT_EQ(fields("reduce/f32/shape=8x8,axes=1,kind=max/fill=normal/seed=0"), "") << "no NaN to lose";
  EXPECT_EQ(fields("reduce/f32/shape=8x8,axes=1/fill=special/seed=0"), "");
}

// The product is just below f16's overflow threshold and an accumulator in f16 can be above it.
TEST(Slack, RoundedProductMayOverflowThroughItsOwnError) {
  const Problem problem = Bind("matmul/f16/m=1,n=1,k=64,bias=1,epilogue=rounded/fill=normal/seed=0");
  std::vector<Tensor> inputs;
  inputs.push_back(Filled(problem.inputs[0], 32));
  inputs.push_back(Filled(problem.inputs[1], 31));  // 63,488
  inputs.push_back(Filled(problem.inputs[2], -60000));
  const Golden golden = Op("matmul").ComputeGolden(problem, inputs, Tier::kFast);
  EXPECT_TRUE(Accepts(Op("matmul").Bound(problem, golden, Declared("f16acc")), golden, 0, HUGE_VAL));
  EXPECT_FALSE(Accepts(Op("matmul").Bound(problem, golden, Declared("f32acc")), golden, 0, HUGE_VAL));
}

}  // namespace
}  // namespace assay::test
