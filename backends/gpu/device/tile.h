// SPDX-License-Identifier: Apache-2.0
// One tile of a matrix product in shared memory, two steps of it in turn: while one is multiplied, the next is on its
// way in registers. `Factors` has the operands: A(row, k, end) and B(k, column, end) give kPack elements along k where
// a_along_k or b_along_k says so, else along the rows or columns, and zeros outside. k goes in ascending order with one
// accumulator per sum, so that a sum does not depend on the shape of the tile.
#pragma once

#include "backends/gpu/device/elements.h"
#include "backends/gpu/device/tile_shape.h"

namespace gpu {

template <class A, class Shape>
struct alignas(16) TileMemory {
  static constexpr int kRowsOf = Shape::kRows + 4, kColumnsOf = Shape::kColumns + 4;  // against bank conflicts
  A a[2][Shape::kDepth][kRowsOf];
  A b[2][Shape::kDepth][kColumnsOf];
};

template <class A, class Shape, class Factors>
struct TileProduct {
  static constexpr int kDepth = Shape::kDepth;
  static constexpr int kPacksA = Shape::kRows * kDepth / kPack, kPacksB = Shape::kColumns * kDepth / kPack;
  static constexpr int kOwnA = (kPacksA + kTileThreads - 1) / kTileThreads;
  static constexpr int kOwnB = (kPacksB + kTileThreads - 1) / kTileThreads;
  using FactorPack = Pack<typename Factors::Element, kPack>;

  const Factors& factors;
  TileMemory<A, Shape>& memory;
  int64_t row, column, end;
  int thread;
  FactorPack a[kOwnA], b[kOwnB];

  GPU_DEVICE void Fetch(int64_t k) {
#pragma unroll
    for (int i = 0; i < kOwnA; ++i) {
      const int pack = i * kTileThreads + thread;
      const PackAt at = PackOf<Shape::kRows, kDepth, kPack>(pack, factors.a_along_k);
      if (pack < kPacksA) a[i] = factors.A(row + at.outer, k + at.depth, end);
    }
#pragma unroll
    for (int i = 0; i < kOwnB; ++i) {
      const int pack = i * kTileThreads + thread;
      const PackAt at = PackOf<Shape::kColumns, kDepth, kPack>(pack, factors.b_along_k);
      if (pack < kPacksB) b[i] = factors.B(k + at.depth, column + at.outer, end);
    }
  }

  GPU_DEVICE void Put(int turn) {
#pragma unroll
    for (int i = 0; i < kOwnA; ++i) {
      const int pack = i * kTileThreads + thread;
      if (pack < kPacksA) Scatter<Shape::kRows>(a[i], pack, factors.a_along_k, memory.a[turn]);
    }
#pragma unroll
    for (int i = 0; i < kOwnB; ++i) {
      const int pack = i * kTileThreads + thread;
      if (pack < kPacksB) Scatter<Shape::kColumns>(b[i], pack, factors.b_along_k, memory.b[turn]);
    }
  }

  template <int kOuter, class To>
  GPU_DEVICE static void Scatter(const FactorPack& pack, int index, bool along, To& to) {
    const PackAt at = PackOf<kOuter, kDepth, kPack>(index, along);
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      if (along) {
        to[at.depth + i][at.outer] = ToAcc(pack.at[i]);
      } else {
        to[at.depth][at.outer + i] = ToAcc(pack.at[i]);
      }
    }
  }

  GPU_DEVICE void Multiply(int turn, A (&sum)[Shape::kThreadRows][Shape::kThreadColumns]) const {
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      A left[Shape::kThreadRows], right[Shape::kThreadColumns];
#pragma unroll
      for (int i = 0; i < Shape::kThreadRows; ++i) left[i] = memory.a[turn][k][Shape::Row(thread, i)];
#pragma unroll
      for (int j = 0; j < Shape::kThreadColumns; ++j) right[j] = memory.b[turn][k][Shape::Column(thread, j)];
#pragma unroll
      for (int i = 0; i < Shape::kThreadRows; ++i) {
#pragma unroll
        for (int j = 0; j < Shape::kThreadColumns; ++j) sum[i][j] = MultiplyAdd(left[i], right[j], sum[i][j]);
      }
    }
  }

  // The sums over k in [begin, end). `rows` of the matrix: threads below it have nothing to multiply.
  GPU_DEVICE void Run(int64_t begin, int64_t rows, A (&sum)[Shape::kThreadRows][Shape::kThreadColumns]) {
    const bool has_rows = row + Shape::Row(thread, 0) < rows;
#pragma unroll
    for (int i = 0; i < Shape::kThreadRows; ++i) {
#pragma unroll
      for (int j = 0; j < Shape::kThreadColumns; ++j) sum[i][j] = A{0};
    }
    Fetch(begin);
    Put(0);
    Sync();
    int turn = 0;
    for (int64_t k = begin; k < end; k += kDepth, turn ^= 1) {
      const bool more = k + kDepth < end;
      if (more) Fetch(k + kDepth);
      if (has_rows) Multiply(turn, sum);
      if (more) Put(turn ^ 1);
      Sync();
    }
  }
};

}  // namespace gpu
