// SPDX-License-Identifier: Apache-2.0
// How a block's threads share a tile of a matrix product. Pure index arithmetic.
#pragma once

#include "backends/gpu/device/integers.h"

namespace gpu {

inline constexpr int kTileThreads = 256;
inline constexpr int kPack = 4;  // elements that a thread loads together

// kRows x kColumns sums, kDepth of the common extent at a time; a thread has kThreadRows x kThreadColumns sums.
template <int kRows_, int kColumns_, int kThreadRows_, int kThreadColumns_>
struct TileShape {
  static constexpr int kRows = kRows_, kColumns = kColumns_, kDepth = 16;
  static constexpr int kThreadRows = kThreadRows_, kThreadColumns = kThreadColumns_;
  static constexpr int kAcross = kColumns / kThreadColumns;  // threads side by side
  static constexpr int kGroup = kThreadColumns < 4 ? kThreadColumns : 4;
  static_assert(kRows / kThreadRows * kAcross == kTileThreads);

  GPU_FN static int Row(int thread, int i) { return thread / kAcross * kThreadRows + i; }
  // Columns in groups of kGroup, so that neighbouring threads read neighbouring groups from shared memory.
  GPU_FN static int Column(int thread, int j) {
    return j / kGroup * (kAcross * kGroup) + thread % kAcross * kGroup + j % kGroup;
  }
};

using LargeTile = TileShape<128, 128, 8, 8>;
using MediumTile = TileShape<64, 64, 4, 4>;
using SkinnyTile = TileShape<16, 128, 4, 2>;

// The tile of a block on matrix units.
struct UnitShape {
  static constexpr int kRows = 128, kColumns = 128, kDepth = 32;
};
// The part of it that one of kWaves waves has: half of its columns, and an equal share of rows.
template <int kWaves>
struct WaveShape {
  static constexpr int kRows = 2 * UnitShape::kRows / kWaves, kColumns = UnitShape::kColumns / 2;
  GPU_FN static int Row(int wave) { return wave / 2 * kRows; }
  GPU_FN static int Column(int wave) { return wave % 2 * kColumns; }
};
inline constexpr int kFlashWaves = 4;  // of a block of attention

// Where pack `pack` of an operand's tile begins: along the common extent (`along`), or across it.
struct PackAt {
  int outer, depth;
};
template <int kOuter, int kDepth, int kCount>
GPU_FN PackAt PackOf(int pack, bool along) {
  if (along) return {pack / (kDepth / kCount), pack % (kDepth / kCount) * kCount};
  return {pack % (kOuter / kCount) * kCount, pack / (kOuter / kCount)};
}

// A block of a flat grid over tiles: columns fastest.
struct TileAt {
  int64_t row, column, stack;  // first row and column
};
template <class Shape>
GPU_FN TileAt TileOf(int64_t block, int64_t rows, int64_t columns) {
  const int64_t across = CeilDiv(columns, Shape::kColumns), down = CeilDiv(rows, Shape::kRows);
  return {block / across % down * Shape::kRows, block % across * Shape::kColumns, block / across / down};
}
template <class Shape>
GPU_FN int64_t TileCount(int64_t rows, int64_t columns, int64_t stack) {
  return CeilDiv(columns, Shape::kColumns) * CeilDiv(rows, Shape::kRows) * stack;
}

}  // namespace gpu
