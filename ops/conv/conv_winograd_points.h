// SPDX-License-Identifier: Apache-2.0
// The sets of points of Winograd's transforms whose errors conv_winograd.cc bounds, and the planes that they leave in a
// golden value.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "ops/conv/conv.h"

namespace assay::winograd {

inline constexpr double kRoundUp = 1 + 0x1p-45;  // of sums of up to 36 positive terms in double
inline constexpr int kMaxSide = 6;

// Absolute values of the three matrices; signs play no part in a bound.
struct Transform {
  const char* name;
  int m, alpha;
  double a[4][kMaxSide], b[kMaxSide][kMaxSide], g[kMaxSide][3];
  int Side() const { return m + 2; }
  int Size() const { return Side() * Side(); }
};

inline constexpr Transform kF2{"2_3",
                               2,
                               2 * (3 + 2 + 3),
                               {{1, 1, 1, 0}, {0, 1, 1, 1}},
                               {{1, 0, 1, 0}, {0, 1, 1, 0}, {0, 1, 1, 0}, {0, 1, 0, 1}},
                               {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, {0, 0, 1}}};
inline constexpr double k6 = 1.0 / 6, k12 = 1.0 / 12, k24 = 1.0 / 24;
inline constexpr Transform kF4{"4_3",
                               4,
                               2 * (5 + 4 + 3 + 1),
                               {{1, 1, 1, 1, 1, 0}, {0, 1, 1, 2, 2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, 1, 8, 8, 1}},
                               {{4, 0, 5, 0, 1, 0},
                                {0, 4, 4, 1, 1, 0},
                                {0, 4, 4, 1, 1, 0},
                                {0, 2, 1, 2, 1, 0},
                                {0, 2, 1, 2, 1, 0},
                                {0, 4, 0, 5, 0, 1}},
                               {{0.25, 0, 0}, {k6, k6, k6}, {k6, k6, k6}, {k24, k12, k6}, {k24, k12, k6}, {0, 0, 1}}};

inline constexpr double kA1 = 64 / 119.0 / 2 * 64 / 25, kB1 = 64 / 119.0 / 2 * 4 / 9;  // 1 / (2 p^2 |p^2 - q^2|)
inline constexpr Transform kF4Fractions{"4_3_fractions",
                                        4,
                                        2 * (5 + 4 + 3 + 1),
                                        {{1, 1, 1, 1, 1, 0},
                                         {0, 0.625, 0.625, 1.5, 1.5, 0},
                                         {0, 0.390625, 0.390625, 2.25, 2.25, 0},
                                         {0, 0.244140625, 0.244140625, 3.375, 3.375, 1}},
                                        {{0.87890625, 0, 2.640625, 0, 1, 0},
                                         {0, 1.40625, 2.25, 0.625, 1, 0},
                                         {0, 1.40625, 2.25, 0.625, 1, 0},
                                         {0, 0.5859375, 0.390625, 1.5, 1, 0},
                                         {0, 0.5859375, 0.390625, 1.5, 1, 0},
                                         {0, 0.87890625, 0, 2.640625, 0, 1}},
                                        {{256 / 225.0, 0, 0},
                                         {kA1, kA1 * 0.625, kA1 * 0.390625},
                                         {kA1, kA1 * 0.625, kA1 * 0.390625},
                                         {kB1, kB1 * 1.5, kB1 * 2.25},
                                         {kB1, kB1 * 1.5, kB1 * 2.25},
                                         {0, 0, 1}}};

template <int kColumns>
double RowSum(const double (&matrix)[kMaxSide][kColumns], int row) {
  double sum = 0;
  for (double x : matrix[row]) sum += x;
  return sum;
}

inline std::string PlaneName(int m) {
  return fmt::format("winograd_{}_3", m);
}

inline std::string TableName(const Transform& f, const char* of) {
  return fmt::format("winograd_{}_{}", f.name, of);
}

// The tables' extents and indices.
struct TileGrid {
  TileGrid(const ConvArgs& of, int side)
      : op(of), m(side), down((op.out[1] + m - 1) / m), across((op.out[2] + m - 1) / m) {}
  int64_t Images() const { return op.n * op.groups; }
  int64_t Places() const { return Images() * op.out[1] * op.out[2]; }
  int64_t Tiles() const { return Images() * down * across; }
  int64_t Place(int64_t image, int64_t row, int64_t column) const {
    return (image * op.out[1] + row) * op.out[2] + column;
  }
  int64_t Tile(int64_t image, int64_t row, int64_t column) const {
    return (image * down + row / m) * across + column / m;
  }
  int64_t ChannelPlace(int64_t channel, int64_t row, int64_t column) const {
    return (channel * m + row % m) * m + column % m;
  }

  const ConvArgs& op;
  int64_t m, down, across;
};

}  // namespace assay::winograd
