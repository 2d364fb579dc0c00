// SPDX-License-Identifier: Apache-2.0
// Every sum of a tile belongs to one thread, every element is loaded once, and tails are covered.
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "backends/gpu/device/tile_shape.h"
#include "backends/gpu/device/unit_layout.h"

namespace gpu {
namespace {

template <class Shape>
class TileTest : public testing::Test {};
using Shapes = testing::Types<LargeTile, MediumTile, SkinnyTile>;
TYPED_TEST_SUITE(TileTest, Shapes);

TYPED_TEST(TileTest, EverySumBelongsToOneThread) {
  std::set<std::pair<int, int>> seen;
  for (int thread = 0; thread < kTileThreads; ++thread) {
    for (int i = 0; i < TypeParam::kThreadRows; ++i) {
      for (int j = 0; j < TypeParam::kThreadColumns; ++j) {
        const auto at = std::pair(TypeParam::Row(thread, i), TypeParam::Column(thread, j));
        EXPECT_LT(at.first, TypeParam::kRows);
        EXPECT_LT(at.second, TypeParam::kColumns);
        EXPECT_TRUE(seen.insert(at).second) << thread;
      }
    }
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(TypeParam::kRows * TypeParam::kColumns));
}

TYPED_TEST(TileTest, BlocksCoverRaggedMatricesOnce) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {129, 127}, {128, 128}, {17, 257}}) {
    constexpr int64_t kStack = 3;
    std::set<std::pair<int64_t, std::pair<int64_t, int64_t>>> seen;
    for (int64_t block = 0; block < TileCount<TypeParam>(rows, columns, kStack); ++block) {
      const TileAt at = TileOf<TypeParam>(block, rows, columns);
      EXPECT_LT(at.row, rows);
      EXPECT_LT(at.column, columns);
      EXPECT_LT(at.stack, kStack);
      EXPECT_EQ(at.row % TypeParam::kRows, 0);
      EXPECT_EQ(at.column % TypeParam::kColumns, 0);
      EXPECT_TRUE(seen.insert({at.stack, {at.row, at.column}}).second);
    }
    const int64_t expected = kStack * CeilDiv(rows, TypeParam::kRows) * CeilDiv(columns, TypeParam::kColumns);
    EXPECT_EQ(static_cast<int64_t>(seen.size()), expected);
  }
}

template <int kWaves>
void ExpectThatWavesShareTheTile() {
  using Wave = WaveShape<kWaves>;
  std::set<std::pair<int, int>> seen;
  for (int wave = 0; wave < kWaves; ++wave) {
    for (int i = 0; i < Wave::kRows * Wave::kColumns; ++i) {
      const auto at = std::pair(Wave::Row(wave) + i / Wave::kColumns, Wave::Column(wave) + i % Wave::kColumns);
      EXPECT_TRUE(seen.insert(at).second) << kWaves << " " << wave << " " << i;
    }
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(UnitShape::kRows * UnitShape::kColumns));
  EXPECT_EQ(*seen.rbegin(), std::pair(UnitShape::kRows - 1, UnitShape::kColumns - 1));
}

TEST(WaveShape, WavesShareTheTile) {
  ExpectThatWavesShareTheTile<NvidiaLayout::kWaves>();
  ExpectThatWavesShareTheTile<RdnaLayout::kWaves>();
}

TEST(PackOf, BothDirectionsReachEveryElementOnce) {
  for (const bool along : {false, true}) {
    std::set<std::pair<int, int>> seen;
    for (int pack = 0; pack < 128 * 32 / 8; ++pack) {
      const PackAt at = PackOf<128, 32, 8>(pack, along);
      for (int i = 0; i < 8; ++i) {
        EXPECT_TRUE(seen.insert({at.outer + (along ? 0 : i), at.depth + (along ? i : 0)}).second);
      }
    }
    EXPECT_EQ(seen.size(), 128u * 32u);
    EXPECT_LT(seen.rbegin()->first, 128);
  }
}

}  // namespace
}  // namespace gpu
