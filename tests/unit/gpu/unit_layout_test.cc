// SPDX-License-Identifier: Apache-2.0
// The lanes of a wave hold every element of a 16 x 16 product once, and exchange within a row reaches that row alone.
#include "backends/gpu/device/unit_layout.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

namespace gpu {
namespace {

template <class Layout>
class UnitLayoutTest : public testing::Test {};
using Layouts = testing::Types<NvidiaLayout, CdnaLayout, RdnaLayout, PlainLayout>;
TYPED_TEST_SUITE(UnitLayoutTest, Layouts);

TYPED_TEST(UnitLayoutTest, HoldsEveryElementOnce) {
  std::set<std::pair<int, int>> seen;
  for (int lane = 0; lane < TypeParam::kLanes; ++lane) {
    for (int i = 0; i < TypeParam::kSums; ++i) {
      EXPECT_TRUE(seen.insert({TypeParam::Row(lane, i), TypeParam::Column(lane, i)}).second) << lane << " " << i;
    }
  }
  EXPECT_EQ(seen.size(), 256u);
  EXPECT_EQ(*seen.rbegin(), std::pair(15, 15));
}

TYPED_TEST(UnitLayoutTest, ASlotIsOneRowOfALane) {
  for (int lane = 0; lane < TypeParam::kLanes; ++lane) {
    std::map<int, int> row_of_slot;
    for (int i = 0; i < TypeParam::kSums; ++i) {
      ASSERT_LT(TypeParam::Slot(i), TypeParam::kSlots);
      const auto [known, added] = row_of_slot.emplace(TypeParam::Slot(i), TypeParam::Row(lane, i));
      EXPECT_EQ(known->second, TypeParam::Row(lane, i)) << lane << " " << i;
    }
    EXPECT_EQ(row_of_slot.size(), static_cast<size_t>(TypeParam::kSlots));
  }
}

// Combining over the bits of kRowMask therefore reaches the whole row, and nothing else.
TYPED_TEST(UnitLayoutTest, LanesThatDifferInTheMaskShareTheirRowsAndNoOthersDo) {
  for (int a = 0; a < TypeParam::kLanes; ++a) {
    for (int b = 0; b < TypeParam::kLanes; ++b) {
      const bool together = (a & ~TypeParam::kRowMask) == (b & ~TypeParam::kRowMask);
      for (int i = 0; i < TypeParam::kSums; ++i) {
        EXPECT_EQ(TypeParam::Row(a, i) == TypeParam::Row(b, i), together) << a << " " << b << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace gpu
