// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backends/gpu/device/reduce_params.h"

namespace gpu {
namespace {

TEST(OffsetsOf, FollowsTheStridesOfEveryAxisOfBothOperands) {
  const int64_t size[] = {2, 3, 4}, in[] = {100, -7, 2}, out[] = {12, 4, 1};
  for (int64_t index = 0; index < 24; ++index) {
    const OffsetPair at = OffsetsOf(index, 3, size, in, out);
    EXPECT_EQ(at.out, index);
    EXPECT_EQ(at.in, index / 12 * 100 - index / 4 % 3 * 7 + index % 4 * 2);
  }
}

TEST(ReducedOffset, OfOneAxisAndOfSeveral) {
  ReduceParams p;
  p.reduced_axes = 1, p.reduced_in[0] = 5;
  EXPECT_EQ(ReducedOffset(p, 7), 35);
  p.reduced_axes = 2, p.reduced_size[0] = 3, p.reduced_size[1] = 4, p.reduced_in[0] = 40, p.reduced_in[1] = 2;
  EXPECT_EQ(ReducedOffset(p, 6), 40 + 2 * 2);
}

}  // namespace
}  // namespace gpu
