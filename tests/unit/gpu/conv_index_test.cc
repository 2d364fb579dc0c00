// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backends/common/conv_spec.h"
#include "tests/unit/gpu/conv_geometry.h"

namespace gpu {
namespace {

TEST(Split, IsRowMajor) {
  const int32_t extents[] = {2, 3, 5};
  for (int32_t index = 0; index < 30; ++index) {
    const Index3 at = Split(extents, index);
    EXPECT_EQ((at.at[0] * 3 + at.at[1]) * 5 + at.at[2], index);
    EXPECT_LT(at.at[1], 3);
    EXPECT_LT(at.at[2], 5);
  }
}

TEST(See, AgreesWithTheDescriptionAtEveryEdge) {
  const ConvParams p = ConvGeometry();
  plugin::ConvSpec spec;
  for (size_t axis = 0; axis < 3; ++axis) {
    spec.in[axis] = p.in[axis], spec.stride[axis] = p.stride[axis], spec.pad[axis] = p.pad[axis];
    spec.dilation[axis] = p.dilation[axis];
  }
  int padded = 0;
  for (int32_t position = 0; position < p.Positions(); ++position) {
    for (int32_t tap = 0; tap < p.Taps(); ++tap) {
      const Index3 at = Split(p.out, position), t = Split(p.kernel, tap);
      bool seen = true;
      int64_t offset = 0;
      for (int axis = 0; axis < 3; ++axis) {
        seen = seen && spec.Sees(axis, at.at[axis], t.at[axis]);
        offset += spec.Source(axis, at.at[axis], t.at[axis]) * p.x_at[axis];
      }
      const Sight sight = See(p, at, t);
      EXPECT_EQ(sight.seen, seen);
      EXPECT_EQ(sight.offset, offset);
      padded += seen ? 0 : 1;
    }
  }
  EXPECT_GT(padded, 0);
  EXPECT_EQ(p.Terms(), 18);
}

}  // namespace
}  // namespace gpu
