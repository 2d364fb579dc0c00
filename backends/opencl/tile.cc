// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/tile.h"

#include <fmt/format.h>

namespace opencl {
namespace {

size_t Ceiling(int64_t n, int64_t unit) {
  return static_cast<size_t>((n + unit - 1) / unit);
}

}  // namespace

void Tile::Define(Options& options) const {
  options.Define("GX", gx).Define("GY", gy).Define("TM", tm).Define("TN", tn);
  options.Define("WIDTH", width).Define("BK", bk);
}

std::string Tile::WhyNot(const Traits& traits, Accumulator acc) const {
  if (static_cast<uint64_t>(LocalBytes(acc)) > traits.local_bytes) {
    return fmt::format("a tile takes {} bytes of local memory; {} has {}", LocalBytes(acc), traits.name,
                       traits.local_bytes);
  }
  if (static_cast<size_t>(gx * gy) > traits.max_group) {
    return fmt::format("a tile takes {} work-items; {} has at most {} in a group", gx * gy, traits.name,
                       traits.max_group);
  }
  return "";
}

Grid Tile::Over(int64_t rows, int64_t columns, int64_t stack) const {
  return {{Ceiling(columns, Columns()), Ceiling(rows, Rows()), static_cast<size_t>(stack)},
          {static_cast<size_t>(gx), static_cast<size_t>(gy), 1}};
}

Tile TileFor(const Traits& traits, Accumulator acc, int64_t rows) {
  if (traits.is_cpu) {
    Tile tile{.gx = 4, .gy = 16, .tm = 8, .tn = 2, .width = acc == Accumulator::kF64 ? 8 : 16, .bk = 32};
    if (rows <= 8) tile.gy = 1, tile.tm = rows == 1 ? 1 : 8;
    return tile;
  }
  if (rows <= 4) return {.gx = 64, .gy = 1};
  if (rows <= 16) return {.gx = 32, .gy = 4};
  return {};
}

}  // namespace opencl
