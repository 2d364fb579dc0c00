// SPDX-License-Identifier: Apache-2.0
// Shapes of the tiles of kernels/tile.cl.
#pragma once

#include <cstdint>

#include "backends/opencl/arithmetic.h"
#include "backends/opencl/kernel_plan.h"

namespace opencl {

struct Tile {
  int64_t gx = 16, gy = 16;  // items of a group
  int64_t tm = 4, tn = 1;    // vectors of sums of an item
  int64_t width = 4;         // of a vector
  int64_t bk = 16;

  int64_t Rows() const { return gy * tm; }
  int64_t Columns() const { return gx * tn * width; }
  int64_t LocalBytes(Accumulator acc) const { return (Rows() * (bk + 1) + Columns() * bk) * Bytes(acc); }
  void Define(Options& options) const;
  // Why the device cannot run groups of this shape; "" when it can.
  std::string WhyNot(const Traits& traits, Accumulator acc) const;
  // Groups over an output of `rows` x `columns`, `stack` of them.
  Grid Over(int64_t rows, int64_t columns, int64_t stack) const;
};

// Wide vectors and few items where the device is a processor, many items elsewhere, and a height that does not waste
// most of the rows.
inline constexpr int64_t kSmallTileRows = 8;  // for all cases that are done before a driver has compiled one
Tile TileFor(const Traits& traits, Accumulator acc, int64_t rows);

}  // namespace opencl
