// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/tensor_args.h"

#include <gtest/gtest.h>

#include <numeric>

namespace assay {
namespace {

TEST(Broadcast, FollowsNumPy) {
  const Shape to{2, 3, 4, 5};
  for (const Shape& from : {Shape{2, 3, 4, 5}, {1, 1, 4, 5}, {2, 1, 1, 5}, {4, 1}, {5}, {}, {1, 1, 1, 1, 1, 5}}) {
    EXPECT_TRUE(BroadcastsTo(from, to)) << ShapeText(from);
  }
  for (const Shape& from : {Shape{2}, {3, 1, 4, 5}, {4}, {2, 2, 3, 4, 5}}) {
    EXPECT_FALSE(BroadcastsTo(from, to)) << ShapeText(from);
  }
  EXPECT_TRUE(BroadcastsTo({1, 1, 4, 5}, {4, 5}));
}

TEST(Broadcast, RepeatsAxesOfExtentOne) {
  const Shape to{2, 3, 4, 5};
  for (const Shape& from : {Shape{2, 1, 4, 1}, {1, 3, 1, 5}, {4, 5}, {1}, {2, 3, 4, 5}}) {
    Tensor tensor(DType::kF32, from);
    std::iota(tensor.As<float>().begin(), tensor.As<float>().end(), 1.0F);
    const Tensor wide = BroadcastTo(tensor, to);
    ASSERT_EQ(wide.shape(), to);
    for (int64_t i = 0; i < wide.size(); ++i) {
      // The element with the same indices, those of repeated axes at 0.
      int64_t rest = i, at = 0, stride = 1;
      for (size_t back = 1; back <= to.size(); ++back) {
        const int64_t index = rest % to[to.size() - back];
        rest /= to[to.size() - back];
        if (back > from.size()) continue;
        const int64_t extent = from[from.size() - back];
        at += (extent == 1 ? 0 : index) * stride;
        stride *= extent;
      }
      ASSERT_EQ(wide.As<float>()[i], tensor.As<float>()[at]) << ShapeText(from) << " " << i;
    }
  }
}

}  // namespace
}  // namespace assay
