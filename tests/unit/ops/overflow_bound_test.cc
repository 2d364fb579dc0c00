// SPDX-License-Identifier: Apache-2.0
// Where operands, partial sums or results leave the range of finite numbers: what bounds permit there.
#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

// f32's largest numbers become infinite when they are rounded to tf32 or bf16: a correct result need not be finite.
TEST(MatmulBound, OperandsBeyondTheNarrowerFormatMayBecomeInfinite) {
  const Problem problem = Bind("matmul/f32/m=2,n=2,k=3/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("matmul").MakeInputs(problem);
  const auto may_overflow = [&](const char* contract, double operand) {
    inputs[0].SetDoubles(std::vector<double>{1, operand, 2, 3, 4, 5});
    inputs[1].SetDoubles(std::vector<double>{0x1p-20, 0x1p-20, 0x1p-20, 0x1p-20, 1, 2});
    const Golden golden = Op("matmul").ComputeGolden(problem, 0, inputs, Tier::kFast);
    const DeclaredBound bound = BoundOf(problem, golden, contract);
    EXPECT_FALSE(Accepts(bound, golden, 2, HUGE_VAL)) << "the other row has no such operand";
    EXPECT_FALSE(Accepts(bound, golden, 0, 3e38)) << "finite results stay bounded";
    EXPECT_EQ(Accepts(bound, golden, 0, HUGE_VAL), Accepts(bound, golden, 0, NAN));
    return Accepts(bound, golden, 0, HUGE_VAL);
  };
  EXPECT_TRUE(may_overflow("in=tf32rn;acc=f32", 0x1.FFFFFEp127));
  EXPECT_TRUE(may_overflow("in=tf32rn;acc=f32", -0x1.FFEp127));
  EXPECT_FALSE(may_overflow("in=tf32rn;acc=f32", 0x1.FFDFFEp127));
  EXPECT_TRUE(may_overflow("in=bf16;acc=f32", 0x1.FFp127));
  EXPECT_TRUE(may_overflow("in=bf16x3;acc=f32", 0x1.FFp127));
  EXPECT_FALSE(may_overflow("in=bf16;acc=f32", 0x1.FEp127));
  EXPECT_FALSE(may_overflow("in=tf32rz;acc=f32", 0x1.FFFFFEp127));
  EXPECT_FALSE(may_overflow("acc=f32", 0x1.FFFFFEp127));
}

// alpha may be multiplied into an operand first, as the reference BLAS does, in the accumulator's format.
TEST(MatmulBound, OperandsTimesAlphaMayOverflowOrUnderflow) {
  for (const auto& [alpha, b0, right] : {std::tuple{"2", 0x1p-20, true},
                                         {"-2", 0x1p-20, true},
                                         {"-1", 0x1p-20, false},
                                         {"0.5", 0x1p-20, false},
                                         {"2", 0.0, true},
                                         {"1.75", 0x1p-20, false}}) {
    SCOPED_TRACE(alpha);
    const Problem problem = Bind(fmt::format("matmul/bf16/m=2,n=2,k=2,alpha={}/fill=normal/seed=0", alpha));
    std::vector<Tensor> inputs = Op("matmul").MakeInputs(problem);
    const double most = right ? FormatOf(DType::kBF16).max_finite : 0x1p127;
    for (const int large : {0, 1}) {
      inputs[large].SetDoubles(std::vector<double>{most, 1, 1, 1});
      inputs[1 - large].SetDoubles(std::vector<double>{b0, 1, 1, 0.5});
      const Golden golden = Op("matmul").ComputeGolden(problem, 0, inputs, Tier::kFast);
      const DeclaredBound bound = BoundOf(problem, golden, "acc=f32");
      for (const double got : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
        EXPECT_EQ(Accepts(bound, golden, 0, got), right) << got;
        EXPECT_FALSE(Accepts(bound, golden, 3, got)) << "neither row nor column has it: " << got;
      }
      EXPECT_TRUE(Accepts(bound, golden, 0, RoundTo(FormatOf(DType::kBF16), golden.value[0])));
      EXPECT_FALSE(Accepts(bound, golden, 0, golden.value[0] / 2 + 3)) << "finite results stay bounded";
    }
  }
  // The smallest subnormal times a half is 0 or itself, whatever the other factor makes of it.
  const Problem problem = Bind("matmul/f32/m=1,n=1,k=2,alpha=0.5/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("matmul").MakeInputs(problem);
  inputs[0].SetDoubles(std::vector<double>{0x1p-149, 1});
  inputs[1].SetDoubles(std::vector<double>{0x1p127, 0x1p-22});
  const Golden golden = Op("matmul").ComputeGolden(problem, 0, inputs, Tier::kFast);
  const DeclaredBound bound = BoundOf(problem, golden, "acc=f32");
  for (const double right : {0.0, 1.0, 2.0}) EXPECT_TRUE(Accepts(bound, golden, 0, 0x1p-23 * (1 + right))) << right;
  EXPECT_FALSE(Accepts(bound, golden, 0, 0x1p-20));
}

// In conv, each tap sees only some operands; weights of padded taps meet the padding's zeros.
TEST(ConvBound, OperandsBeyondTheNarrowerFormatMayBecomeInfinite) {
  const Problem problem = Bind("conv/f32/n=1,c=1,o=2,i=5,k=3,pad=1/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("conv").MakeInputs(problem);
  const auto bound_of = [&](const std::vector<double>& x, const std::vector<double>& w, const char* contract,
                            Golden& golden) {
    inputs[0].SetDoubles(x);
    inputs[1].SetDoubles(w);
    golden = Op("conv").ComputeGolden(problem, 0, inputs, Tier::kFast);
    return BoundOf(problem, golden, contract);
  };
  constexpr double kMost = 0x1.FFFFFEp127, kSmall = 0x1p-20;
  for (const char* contract : {"in=tf32rn;acc=f32", "in=bf16;acc=f32", "in=bf16x3;acc=f32"}) {
    Golden golden;
    const DeclaredBound bound =
        bound_of({kMost, 1, 2, 3, 4}, {kSmall, kSmall, kSmall, 1e-3, 1e-3, 1e-3}, contract, golden);
    for (int64_t i : {0, 1, 5, 6}) {
      EXPECT_TRUE(Accepts(bound, golden, i, HUGE_VAL) && Accepts(bound, golden, i, NAN)) << contract << " " << i;
    }
    for (int64_t i : {2, 3, 4, 7, 8, 9}) EXPECT_FALSE(Accepts(bound, golden, i, HUGE_VAL)) << contract << " " << i;
    EXPECT_FALSE(Accepts(bound, golden, 0, 3e38)) << "finite results stay bounded";
    const DeclaredBound weights = bound_of({1e-3, 1e-3, 1e-3, 1e-3, 1e-3}, {1, 2, -kMost, 1, 2, 3}, contract, golden);
    EXPECT_TRUE(Accepts(weights, golden, 2, -HUGE_VAL) && Accepts(weights, golden, 4, NAN)) << contract;
    EXPECT_FALSE(Accepts(weights, golden, 7, -HUGE_VAL) || Accepts(weights, golden, 9, NAN)) << contract;
  }
  for (const char* contract : {"acc=f32", "in=tf32rz;acc=f32"}) {
    Golden golden;
    const DeclaredBound bound =
        bound_of({kMost, 1, 2, 3, 4}, {kSmall, kSmall, kSmall, 1e-3, 1e-3, 1e-3}, contract, golden);
    EXPECT_FALSE(Accepts(bound, golden, 0, HUGE_VAL)) << contract;
  }
}

// And of reduce, all kinds that compute.
TEST(ReduceBound, OperandsBeyondTheNarrowerFormatMayBecomeInfinite) {
  for (const char* kind : {"sum", "mean", "l2", "prod", "logsumexp"}) {
    const Problem problem = Bind(fmt::format("reduce/f32/shape=2x4,axes=1,kind={}/fill=normal/seed=0", kind));
    std::vector<Tensor> inputs = Op("reduce").MakeInputs(problem);
    inputs[0].SetDoubles(std::vector<double>{0x1.FFFFFEp127, 0x1p-100, 1, 0.5, 1, 2, 3, 4});
    const Golden golden = Op("reduce").ComputeGolden(problem, 0, inputs, Tier::kFast);
    for (const char* contract : {"in=tf32rn;acc=f32", "in=bf16;acc=f32", "in=bf16x3;acc=f32"}) {
      const DeclaredBound bound = BoundOf(problem, golden, contract);
      EXPECT_TRUE(Accepts(bound, golden, 0, HUGE_VAL)) << kind << " " << contract;
      EXPECT_FALSE(Accepts(bound, golden, 1, HUGE_VAL)) << kind << " " << contract;
    }
    EXPECT_FALSE(Accepts(BoundOf(problem, golden, "in=tf32rz;acc=f32"), golden, 1, HUGE_VAL));
  }
}

// A product whose partial products overflow in some order, or underflow: the order decides.
TEST(ReduceBound, ProductsBeyondTheRangeKeepTheirSign) {
  const Problem problem = Bind("reduce/f32/shape=2x4,axes=1,kind=prod/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("reduce").MakeInputs(problem);
  inputs[0].SetDoubles(std::vector<double>{0x1p100, 0x1p100, 0x1p-100, 0x1p-100, 0x1p60, 0x1p60, 0x1p-60, 3});
  const Golden golden = Op("reduce").ComputeGolden(problem, 0, inputs, Tier::kFast);
  const DeclaredBound bound = BoundOf(problem, golden, "acc=f32");
  EXPECT_FALSE(bound.IsFree(0));
  EXPECT_TRUE(Accepts(bound, golden, 0, HUGE_VAL));
  EXPECT_TRUE(Accepts(bound, golden, 0, 0));
  EXPECT_TRUE(Accepts(bound, golden, 0, 17));
  EXPECT_TRUE(Accepts(bound, golden, 0, NAN)) << "0 times infinity";
  EXPECT_FALSE(Accepts(bound, golden, 0, -HUGE_VAL));
  EXPECT_FALSE(Accepts(bound, golden, 0, -17));
  EXPECT_EQ(bound.AlsoAt(1), 0u);
  EXPECT_TRUE(Accepts(bound, golden, 1, 0x3p60));
  EXPECT_FALSE(Accepts(bound, golden, 1, HUGE_VAL));
  EXPECT_FALSE(Accepts(bound, golden, 1, 0));
}

// sqrt of an overflowing or vanishing sum of squares: infinity or zero, where the squares leave the accumulator.
TEST(ReduceBound, NormsMayOverflowOrVanish) {
  const Problem problem = Bind("reduce/f32/shape=3x2,axes=1,kind=l2/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("reduce").MakeInputs(problem);
  inputs[0].SetDoubles(std::vector<double>{0x1p70, 1, 0x1p-80, 0x1p-80, 3, 4});
  const Golden golden = Op("reduce").ComputeGolden(problem, 0, inputs, Tier::kReproducible);
  const DeclaredBound bound = BoundOf(problem, golden, "acc=f32");
  EXPECT_TRUE(Accepts(bound, golden, 0, HUGE_VAL));
  EXPECT_TRUE(Accepts(bound, golden, 0, 0x1p70));
  EXPECT_FALSE(Accepts(bound, golden, 0, 0));
  EXPECT_TRUE(Accepts(bound, golden, 1, 0));
  EXPECT_FALSE(Accepts(bound, golden, 1, HUGE_VAL));
  EXPECT_FALSE(Accepts(bound, golden, 2, HUGE_VAL));
  EXPECT_FALSE(Accepts(bound, golden, 2, 0));
  EXPECT_TRUE(Accepts(bound, golden, 2, 5));
}

struct OverflowingSum {
  const char* id;
  std::vector<std::vector<double>> inputs;
  bool up, down;
};

// Sums overflow only to the side that their terms are on; to NaN where there are enough of both.
// A mean may be a running one, whose differences have either sign.
TEST(SumBound, PartialSumsOverflowToTheSideOfTheirTerms) {
  const OverflowingSum kSums[] = {
      {"reduce/f32/shape=1x4,axes=1/fill=normal/seed=0", {{0x1p127, 0x1p127, 1, 0}}, true, false},
      {"reduce/f32/shape=1x4,axes=1/fill=normal/seed=0", {{-0x1p127, -0x1p127, -1, 0}}, false, true},
      {"reduce/f32/shape=1x4,axes=1/fill=normal/seed=0", {{0x1p127, 0x1p127, -0x1p127, 1}}, true, false},
      {"reduce/f32/shape=1x4,axes=1/fill=normal/seed=0", {{0x1p127, 0x1p127, -0x1p127, -0x1p127}}, true, true},
      {"reduce/f32/shape=1x4,axes=1,kind=mean/fill=normal/seed=0", {{0x1p127, 0x1p127, 1, 0}}, true, true},
      {"reduce/f32/shape=1x4,axes=1,kind=mean/fill=normal/seed=0", {{0x1p127, -0x1p127, -0x1p127, 0}}, true, true},
      {"matmul/f16-f16-f32/m=1,n=1,k=2/fill=normal/seed=0", {{0x1p15, 0x1p15}, {2, 1}}, true, false},
      {"matmul/f16-f16-f32/m=1,n=1,k=2/fill=normal/seed=0", {{0x1p15, 0x1p15}, {2, -2}}, true, true},
      {"matmul/f16-f16-f32/m=1,n=1,k=2,alpha=-1/fill=normal/seed=0", {{0x1p15, 0x1p15}, {2, 1}}, false, true},
      {"conv/f16/n=1,c=1,o=1,i=2,k=2/fill=normal/seed=0", {{0x1p15, 0x1p15}, {-2, -1}}, false, true},
  };
  for (const OverflowingSum& sum : kSums) {
    const Problem problem = Bind(sum.id);
    SCOPED_TRACE(sum.id);
    std::vector<Tensor> inputs = Op(problem.spec.op).MakeInputs(problem);
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].SetDoubles(sum.inputs[i]);
    const Contract contract = Declared(problem.spec.op == "reduce" ? "acc=f32" : "acc=f16");
    for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
      const Golden golden = Op(problem.spec.op).ComputeGolden(problem, 0, inputs, tier);
      const DeclaredBound bound = BoundOf(problem, golden, contract);
      EXPECT_EQ(Accepts(bound, golden, 0, HUGE_VAL), sum.up);
      EXPECT_EQ(Accepts(bound, golden, 0, -HUGE_VAL), sum.down);
      EXPECT_EQ(Accepts(bound, golden, 0, std::nan("")), sum.up && sum.down);
      if (sum.up != sum.down) {
        EXPECT_FALSE(Accepts(bound, golden, 0, 1)) << "finite";
      }
    }
  }
}

// Split operands have parts of either sign, transforms as well.
TEST(SumBound, PartialResultsOfOtherAlgorithmsHaveEitherSign) {
  const Problem problem = Bind("conv/f32/n=1,c=2,o=2,i=8x8,k=3x3,pad=1/fill=normal/seed=0");
  const std::vector<Tensor> inputs = Op("conv").MakeInputs(problem);
  const Golden golden = Op("conv").ComputeGolden(problem, 0, inputs, Tier::kFast);
  const auto signs = [&](const char* contract) { return BoundOf(problem, golden, contract).partial_signs; };
  EXPECT_EQ(signs("acc=f32"), PartialSigns::kOfTerms);
  EXPECT_EQ(signs("in=bf16;acc=f32"), PartialSigns::kOfTerms);
  EXPECT_EQ(signs("in=bf16x3;acc=f32"), PartialSigns::kEither);
  EXPECT_EQ(signs("acc=f32;alg=winograd<2,3>"), PartialSigns::kEither);
}

// The running mean of {x, -x}, m += (x - m) / n, has -2 x on the way.
TEST(MeanBound, RunningMeansOverflowToEitherSide) {
  const Problem problem = Bind("reduce/f32/shape=1x2,axes=1,kind=mean/fill=normal/seed=0");
  std::vector<Tensor> inputs;
  inputs.emplace_back(DType::kF32, Shape{1, 2});
  for (const double x : {0x1.Cp127, 1.0}) {
    inputs[0].SetDoubles(std::vector<double>{x, -x});
    const Golden golden = Op("reduce").ComputeGolden(problem, 0, inputs, Tier::kFast);
    const DeclaredBound bound = BoundOf(problem, golden, "acc=f32");
    EXPECT_TRUE(Accepts(bound, golden, 0, 0));
    EXPECT_EQ(Accepts(bound, golden, 0, -HUGE_VAL), x > 1);
    EXPECT_EQ(Accepts(bound, golden, 0, HUGE_VAL), x > 1);
    EXPECT_FALSE(Accepts(bound, golden, 0, x));
  }
}

// The running mean forms inf - inf behind an infinite term.
TEST(MeanBound, OfAnInfinityIsThatOrNan) {
  const Problem problem = Bind("reduce/f32/shape=2x3,axes=1,kind=mean/fill=normal/seed=0");
  std::vector<Tensor> inputs;
  inputs.emplace_back(DType::kF32, Shape{2, 3});
  inputs[0].SetDoubles(std::vector<double>{1, -HUGE_VAL, 2, 1, 2, 3});
  const Golden golden = Op("reduce").ComputeGolden(problem, 0, inputs, Tier::kFast);
  const DeclaredBound bound = BoundOf(problem, golden, "acc=f32");
  for (const double right : {-HUGE_VAL, std::nan("")}) EXPECT_TRUE(Accepts(bound, golden, 0, right)) << right;
  for (const double wrong : {HUGE_VAL, 0.0, -3e38}) EXPECT_FALSE(Accepts(bound, golden, 0, wrong)) << wrong;
  EXPECT_FALSE(Accepts(bound, golden, 1, std::nan("")));
}

// Beyond the range of f32 narrow planes would hold nothing.
TEST(SumBound, SumsBeyondF32AreBounded) {
  for (const char* id : {"matmul/f32/m=1,n=1,k=2/fill=normal/seed=0", "conv/f32/n=1,c=1,o=1,i=2,k=2/fill=normal/seed=0",
                         "conv/bf16/n=1,c=1,o=1,i=2,k=2/fill=normal/seed=0"}) {
    SCOPED_TRACE(id);
    const Problem problem = Bind(id);
    std::vector<Tensor> inputs = Op(problem.spec.op).MakeInputs(problem);
    for (Tensor& input : inputs) input.SetDoubles(std::vector<double>{0x1p70, 0x1p69});
    for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
      const Golden golden = Op(problem.spec.op).ComputeGolden(problem, 0, inputs, tier);
      const DeclaredBound bound = BoundOf(problem, golden, "acc=f32");
      EXPECT_TRUE(Accepts(bound, golden, 0, HUGE_VAL));
      EXPECT_FALSE(Accepts(bound, golden, 0, -HUGE_VAL));
      EXPECT_FALSE(Accepts(bound, golden, 0, std::nan("")));
      EXPECT_FALSE(Accepts(bound, golden, 0, 0));
    }
  }
}

}  // namespace
}  // namespace assay::test
