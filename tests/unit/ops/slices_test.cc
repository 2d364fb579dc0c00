// SPDX-License-Identifier: Apache-2.0
// Slices that change places, and inputs that are scaled: the golden value of the changed inputs is the one of the case,
// put back.
#include "ops/slices.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

constexpr const char* kCases[] = {
    "matmul/f32/m=9,n=6,k=20,batch=3,bias=1,beta=0.5/fill=normal/seed=0",
    "matmul/bf16/m=20,n=5,k=7,transa=1,transb=1,bias=1/fill=normal/seed=1",
    "matmul/f32/m=1,n=5,k=7,transb=1,beta=1/fill=normal/seed=1",
    "reduce/f32/shape=9x4x5,axes=1/fill=normal/seed=0",
    "reduce/f32/shape=3x5x7,axes=0+2,kind=l2,keepdims=1/fill=normal/seed=0",
    "reduce/f32-i64/shape=4x9,axes=1,kind=argmax/fill=normal/seed=0",
    "reduce/f32/shape=4x9,axes=0+1,kind=logsumexp/fill=normal/seed=0",
    "reduce/f32/shape=64x100,axes=1,kind=prod/fill=near_one/seed=0",
    "softmax/f32/shape=5x9x3,axis=1/fill=normal/seed=0",
    "softmax/f32/shape=7,log=1/fill=normal/seed=0",
    "conv/f32/n=3,c=4,o=6,i=7x6,k=3x2,stride=2x1,pad=1,groups=2,bias=1/fill=normal/seed=0",
    "conv/f32/n=1,c=4,o=6,i=9,k=3,bias=1/fill=normal/seed=0",
    "attention/f32/b=2,h=6,hkv=2,l=5,s=7,d=8,dv=4,mask=add,mask_per_head=1/fill=normal/seed=0",
    "attention/f32/b=1,h=4,hkv=2,l=5,s=7,d=8,mask=bool/fill=normal/seed=0",
    "attention/f32/b=1,h=4,hkv=4,l=6,s=6,d=8,causal=1,window=3/fill=normal/seed=0",
    "attention/f32/b=1,h=1,l=3,s=7,d=1/fill=normal/seed=0",
    "fft/c64/kind=c2c,n=12,batch=5/fill=normal/seed=0",
    "fft/f32-c64/kind=r2c,n=9x7,batch=2/fill=normal/seed=0",
};

std::vector<double> GoldenOf(const Problem& problem, std::span<const Tensor> inputs) {
  return Op(problem.spec.op).ComputeGolden(problem, 0, inputs, Tier::kReproducible).value;
}

// Equal but for what another order of a sum makes of its last bits.
void ExpectClose(std::span<const double> expected, std::span<const double> got, const std::string& what) {
  ASSERT_EQ(expected.size(), got.size()) << what;
  double largest = 0;
  for (const double x : expected) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(expected[i], got[i], 1e-13 * largest) << what << " at " << i;
}

// A tensor of the golden value's numbers, as the output has them.
Tensor AsOutput(const Problem& problem, std::span<const double> values) {
  const bool complex = IsComplex(problem.outputs[0].dtype), index = IsInt(problem.outputs[0].dtype);
  Tensor tensor(complex ? DType::kC128 : index ? DType::kI64 : DType::kF64, problem.outputs[0].shape);
  tensor.SetDoubles(values);
  return tensor;
}

TEST(SlicesOfOperands, ChangePlacesWithThoseOfTheOutput) {
  for (const char* id : kCases) {
    const Problem problem = Bind(id);
    const Operator& op = Op(problem.spec.op);
    const std::vector<double> own = GoldenOf(problem, op.MakeInputs(problem));
    std::vector<Tensor> inputs = op.MakeInputs(problem);
    std::vector<std::pair<int64_t, std::vector<int64_t>>> orders;  // axis of the output, where slices came from
    const std::vector<SliceAxes> axes = op.Slices(problem, 0);
    EXPECT_FALSE(axes.empty()) << id;
    for (const SliceAxes& along : axes) {
      ASSERT_EQ(along.inputs.size(), inputs.size()) << id;
      std::vector<int64_t> order(static_cast<size_t>(along.extent));
      std::iota(order.begin(), order.end(), 0);
      for (const auto& [i, j] : {std::pair<int64_t, int64_t>{0, along.extent - 1}, {along.extent / 2, 0}}) {
        std::swap(order[i], order[j]);
        for (size_t k = 0; k < inputs.size(); ++k) {
          if (along.inputs[k] < 0) continue;
          const SlicedOperand sliced(problem.inputs[k], along.inputs[k], along.extent);
          sliced.Exchange({inputs[k].data(), inputs[k].bytes()}, i, j);
        }
      }
      if (along.output >= 0) orders.emplace_back(along.output, order);
    }
    Tensor got = AsOutput(problem, GoldenOf(problem, inputs));
    for (const auto& [axis, order] : orders) {
      got = SlicedOperand(problem.outputs[0], axis, std::ssize(order)).Restored(got, order);
    }
    ExpectClose(own, got.ToDoubles(), id);
  }
}

TEST(SlicesOfOperands, AreWhatWasTouched) {
  const Operand operand{"x", DType::kF32, {2, 6, 3}};
  for (const auto& [axis, extent] : {std::pair<int64_t, int64_t>{0, 2}, {1, 6}, {1, 3}, {2, 3}}) {
    const SlicedOperand sliced(operand, axis, extent);
    Tensor x(DType::kF32, operand.shape);
    std::iota(x.As<float>().begin(), x.As<float>().end(), 0.F);
    const Tensor before = x.Clone();
    const auto ranges = sliced.Exchange({x.data(), x.bytes()}, extent - 1, 0);
    std::vector<bool> touched(x.bytes());
    uint64_t bytes = 0;
    for (const SlicedOperand::Range& range : ranges) {
      for (uint64_t i = 0; i < range.bytes; ++i) touched.at(range.first + i) = true;
      bytes += range.bytes;
    }
    EXPECT_LE(bytes, sliced.TouchedBytes());
    for (size_t i = 0; i < x.bytes(); ++i) EXPECT_TRUE(touched[i] || x.data()[i] == before.data()[i]) << axis;
    EXPECT_NE(x.As<float>()[0], 0) << axis;
  }
}

TEST(ScaledInputs, ScaleTheOutput) {
  int scaled_cases = 0;
  for (const char* id : kCases) {
    const Problem problem = Bind(id);
    const Operator& op = Op(problem.spec.op);
    const std::vector<int> scaled = op.ScaledInputs(problem);
    if (scaled.empty()) continue;
    ++scaled_cases;
    std::vector<Tensor> inputs = op.MakeInputs(problem);
    std::vector<double> own = GoldenOf(problem, inputs);
    for (const int i : scaled) {
      std::vector<double> values = inputs[i].ToDoubles();
      for (double& x : values) x *= 4;
      inputs[i].SetDoubles(values);
    }
    for (double& y : own) y *= 4;
    ExpectClose(own, GoldenOf(problem, inputs), id);
  }
  EXPECT_GE(scaled_cases, 8);
}

}  // namespace
}  // namespace assay::test
