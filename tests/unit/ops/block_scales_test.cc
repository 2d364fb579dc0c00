// SPDX-License-Identifier: Apache-2.0
// Twins of products whose blocks have scales: a kernel that takes the scale of another block is seen in each element.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

// The scale of each block in the place of the next one's; blocks lie along this axis.
Tensor ShiftBlocks(const Tensor& scales, size_t axis) {
  const Shape& shape = scales.shape();
  std::vector<double> values = scales.ToDoubles();
  const int64_t inner = axis == 0 ? shape[1] : 1, line = shape[axis] * inner;
  for (auto at = values.begin(); at != values.end(); at += line) std::rotate(at, at + inner, at + line);
  Tensor shifted(scales.dtype(), shape);
  shifted.SetDoubles(values);
  return shifted;
}

TEST(BlockScales, TwinsShowTheScaleOfAnotherBlock) {
  for (const std::string types : {"e4m3-e4m3-u8-u8-f32/m=3,k=96,n=5", "e4m3-e4m3-u8-u8-bf16/m=3,k=96,n=5",
                                  "u8-u8-u8-u8-f32/m=3,k=96,n=5,codes=e2m1"}) {
    const Problem problem = Bind("mx_mm/" + types + "/fill=normal/seed=0");
    const Operator& op = Op("mx_mm");
    std::optional<Twin> twin = op.MakeTwin(problem, 0, Declared("f32acc;math=0"), 0);
    ASSERT_TRUE(twin) << types;
    for (const size_t operand : {2, 3}) {
      Tensor other = ShiftBlocks(twin->inputs[operand], operand == 2 ? 1 : 0);
      std::swap(twin->inputs[operand], other);
      const Golden golden = op.ComputeGolden(problem, 0, twin->inputs, Tier::kFast);
      std::swap(twin->inputs[operand], other);
      int64_t seen = 0;
      for (int64_t i = 0; i < golden.size(); ++i) {
        const DType type = problem.outputs[0].dtype;
        seen += Accepts(*twin, type, i, RoundTo(FormatOf(type), golden.value[static_cast<size_t>(i)])) ? 0 : 1;
      }
      EXPECT_EQ(seen, golden.size()) << types << " operand " << operand;
    }
  }
}

}  // namespace
}  // namespace assay::test
