// SPDX-License-Identifier: Apache-2.0
// A part of a case has the golden values and bounds that its elements have in the whole.
#include <gtest/gtest.h>

#include <vector>

#include "ops/subproblem.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

constexpr const char* kDividedCases[] = {
    "matmul/f32/m=40,n=6,k=20,bias=1,beta=0.5/fill=normal/seed=0",
    "matmul/f32/m=40,n=48,k=20,bias=1/fill=normal/seed=0",
    "matmul/f32/m=6,n=48,k=20,transa=1,transb=1,bias=1/fill=normal/seed=1",
    "softmax/f32/shape=40x9,axis=1/fill=normal/seed=0",
    "reduce/f32/shape=48x5,axes=1/fill=normal/seed=0",
    "reduce/f32/shape=3x48x5,axes=0+2,kind=l2,keepdims=1/fill=normal/seed=0",
    "conv/f32/n=2,c=4,o=40,i=7x6,k=3x2,pad=1,bias=1/fill=normal/seed=0",
    "attention/f32/b=2,h=2,l=40,s=7,d=8/fill=normal/seed=0",
    "layer_norm/f32/rows=40,n=12/fill=normal/seed=0",
};

Tensor AsTensor(const std::vector<double>& values, const Shape& shape) {
  Tensor tensor(DType::kF64, shape);
  tensor.SetDoubles(values);
  return tensor;
}

TEST(PartOfCase, HasTheValuesAndBoundsOfTheWhole) {
  for (const char* id : kDividedCases) {
    SCOPED_TRACE(id);
    const Problem problem = Bind(id);
    const Operator& op = Op(problem.spec.op);
    const std::vector<Tensor> inputs = op.MakeInputs(problem);
    const Golden whole = op.ComputeGolden(problem, 0, inputs, Tier::kReproducible);
    const int64_t last = whole.size() - 1;
    const auto part = TakePart(op, problem, 0, inputs, std::vector<int64_t>{last, 0, last}, 3);
    ASSERT_TRUE(part.has_value());
    for (const SliceCut& cut : part->cuts) EXPECT_LE(cut.indices.size(), 5u);
    const Golden of_part = op.ComputeGolden(part->problem, 0, part->inputs, Tier::kReproducible);
    const Contract contract = Declared("acc=f32");
    const BoundModel bound = op.Bound(problem, 0, whole, contract);
    const BoundModel bound_of_part = op.Bound(part->problem, 0, of_part, contract);
    std::vector<double> limits(static_cast<size_t>(whole.size()));
    for (int64_t i = 0; i < whole.size(); ++i) limits[i] = bound.LargestToleranceAt(whole, i);
    const Shape& shape = problem.outputs[0].shape;
    const Tensor values = part->TakeOutput(AsTensor(whole.value, shape));
    EXPECT_EQ(values.shape(), part->problem.outputs[0].shape);
    EXPECT_EQ(values.ToDoubles(), of_part.value);
    const std::vector<double> expected = part->TakeOutput(AsTensor(limits, shape)).ToDoubles();
    for (int64_t i = 0; i < of_part.size(); ++i) {
      EXPECT_NEAR(bound_of_part.LargestToleranceAt(of_part, i) / expected[i], 1, 1e-6) << i;
    }
  }
}

TEST(PartOfCase, IsCutAlongAllLongAxes) {
  const Problem problem = Bind("matmul/f32/m=40,n=48,k=20/fill=normal/seed=0");
  const Operator& op = Op("matmul");
  const auto part = TakePart(op, problem, 0, op.MakeInputs(problem), std::vector<int64_t>{7 * 48 + 9}, 2);
  ASSERT_TRUE(part.has_value());
  ASSERT_EQ(part->cuts.size(), 2u);
  EXPECT_EQ(part->cuts[0].indices, (std::vector<int64_t>{0, 9, 24}));
  EXPECT_EQ(part->cuts[1].indices, (std::vector<int64_t>{0, 7, 20}));
}

TEST(PartOfCase, IsNoneWhereLittleWouldBeSavedOrNothingIsDivided) {
  for (const char* id : {"matmul/f32/m=8,n=6,k=20/fill=normal/seed=0", "softmax/f32/shape=4x4096/fill=normal/seed=0"}) {
    const Problem problem = Bind(id);
    const Operator& op = Op(problem.spec.op);
    EXPECT_FALSE(TakePart(op, problem, 0, op.MakeInputs(problem), std::vector<int64_t>{0}, 4).has_value()) << id;
  }
}

}  // namespace
}  // namespace assay::test
