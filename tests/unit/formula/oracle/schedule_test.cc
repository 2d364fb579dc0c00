// SPDX-License-Identifier: Apache-2.0
// Operators that several formulas give: bounds are those of the formula that a contract names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ops/formula_operator/formula_operator.h"
#include "tests/support/formula/simulate.h"
#include "tests/support/full.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

// A normalisation of data whose mean is a hundred times their deviation.
struct OffsetCase {
  explicit OffsetCase(const std::string& id)
      : problem(Bind(id + "/fill=offset/seed=0")),
        op(dynamic_cast<const FormulaOperator&>(Op(problem.spec.op))),
        inputs(op.MakeInputs(problem)),
        golden(op.ComputeGolden(problem, 0, inputs, Tier::kFast)) {}

  std::vector<double> Run(const char* declaration, uint64_t seed) const {
    const Contract contract = Declared(declaration);
    std::vector<std::vector<double>> elements;
    for (const Tensor& input : inputs) elements.push_back(input.ToDoubles());
    const formula::Definition definition = op.DefinitionOf(problem, 0, contract.alg);
    const std::vector<DType> types(inputs.size(), DType::kF32);
    std::vector<double> y =
        Simulate(definition.graph(), definition.graph().outputs[0], elements, types, contract, seed);
    for (double& value : y) value = RoundTo(FormatOf(DType::kF32), value);
    return y;
  }
  int64_t CountRejected(const char* declaration, const std::vector<double>& y) const {
    const DeclaredBound bound = BoundOf(problem, golden, declaration);
    int64_t rejected = 0;
    for (int64_t i = 0; i < golden.size(); ++i)
      rejected += Accepts(bound, golden, i, y[static_cast<size_t>(i)]) ? 0 : 1;
    return rejected;
  }
  double LargestShare(const char* declaration, const std::vector<double>& y) const {
    const DeclaredBound bound = BoundOf(problem, golden, declaration);
    double largest = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      const double reach = bound.At(golden, static_cast<int64_t>(i));
      largest = std::max(largest, std::fabs(y[i] - golden.value[i]) / reach);
    }
    return largest;
  }

  Problem problem;
  const FormulaOperator& op;
  std::vector<Tensor> inputs;
  Golden golden;
};

constexpr const char* kDirect = "f32acc;math=4";
constexpr const char* kOnePass = "f32acc;math=4;alg=onepass";

TEST(FormulaSchedules, AOnePassVarianceIsBoundedByItsOwnFormula) {
  for (const char* id : {"layer_norm/f32/rows=4,n=64", "layer_norm/f32/rows=4,n=1024", "layer_norm/f32/rows=2,n=4096",
                         "group_norm/f32/b=2,g=2,c=4,n=16", "group_norm/f32/b=1,g=1,c=8,n=512"}) {
    const OffsetCase one(id);
    double of_direct = 0, of_onepass = 0;
    for (uint64_t seed = 0; seed < (test::kIsFull ? 40 : 12); ++seed) {
      const std::vector<double> y = one.Run(kOnePass, seed), direct = one.Run(kDirect, seed);
      EXPECT_EQ(one.CountRejected(kOnePass, y), 0) << id << " seed " << seed;
      EXPECT_EQ(one.CountRejected(kDirect, direct), 0) << id << " seed " << seed;
      EXPECT_EQ(one.CountRejected(kOnePass, direct), 0) << id << " seed " << seed << ": direct is no worse";
      of_direct = std::max(of_direct, one.LargestShare(kDirect, y));
      of_onepass = std::max(of_onepass, one.LargestShare(kOnePass, y));
    }
    fmt::print("{:36} one-pass error / direct bound {:.3f}, / one-pass bound {:.4f}\n", id, of_direct, of_onepass);
    if (NumElements(one.problem.outputs[0].shape) <= 256) {
      EXPECT_GT(of_direct, 1) << id;
    }
  }
}

// For rows of 64 with such a mean, a one-pass kernel that does not declare itself must be found.
TEST(FormulaSchedules, AOnePassVarianceIsOutOfTheDirectBound) {
  const OffsetCase one("layer_norm/f32/rows=4,n=64");
  int64_t found = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) found += one.CountRejected(kDirect, one.Run(kOnePass, seed)) > 0 ? 1 : 0;
  fmt::print("{} of 40 one-pass executions are out of the direct bound\n", found);
  EXPECT_GE(found, 30);
}

// A negative variance, and the NaN that follows from it, are wrong however large the bound of a long row is.
TEST(FormulaSchedules, BoundsOfLongRowsStayFinite) {
  const OffsetCase one("layer_norm/f32/rows=2,n=4096");
  std::vector<double> y = one.Run(kOnePass, 1);
  y[17] = std::nan("");
  EXPECT_EQ(one.CountRejected(kOnePass, y), 1);
}

TEST(FormulaSchedules, WhatIsExactInOnePassHasATwin) {
  const Problem problem = Bind("layer_norm/f32/rows=4,n=256/fill=normal/seed=0");
  EXPECT_FALSE(TwinsOf(problem, kOnePass).empty());
}

TEST(FormulaSchedules, OperatorsRefuseSchedulesThatTheyLack) {
  const auto refusal = [](const char* op, const char* declaration) {
    const Status status = CheckDeclared(Op(op), {DType::kF32}, Declared(declaration));
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(refusal("layer_norm", kOnePass), "");
  EXPECT_EQ(refusal("group_norm", kOnePass), "");
  EXPECT_EQ(refusal("softmax_backward", kDirect), "");
  EXPECT_EQ(refusal("softmax_backward", kOnePass),
            "softmax_backward has no bound for alg=onepass: its contracts may say alg=direct");
  EXPECT_EQ(refusal("layer_norm", "f32acc;alg=fft"),
            "layer_norm has no bound for alg=fft: its contracts may say alg=direct or alg=onepass");
  EXPECT_NE(refusal("matmul", kOnePass), "");
  EXPECT_EQ(refusal("matmul", "f32acc;alg=winograd<2,3>"),
            "matmul has no bound for alg=winograd: its contracts may say alg=direct");
  EXPECT_EQ(refusal("conv", "f32acc;alg=winograd<2,3>"), "");
}

}  // namespace
}  // namespace assay::test
