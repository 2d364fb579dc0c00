// SPDX-License-Identifier: Apache-2.0
// Matmul kernels: tiles, and the sum of the parts of k in their order.
#pragma once

#include "backends/gpu/device/matmul_params.h"
#include "backends/gpu/device/tile.h"

namespace gpu {

template <class T, int kCount>
struct MatmulFactors {
  using Element = T;
  const MatmulParams& p;
  const T *a, *b;
  bool a_along_k, b_along_k;

  GPU_DEVICE Pack<T, kCount> A(int64_t row, int64_t k, int64_t end) const {
    const int64_t count = a_along_k ? (row < p.m ? end - k : 0) : (k < end ? p.m - row : 0);
    return LoadPack<T, kCount>(a, row * p.a_row + k * p.a_column, a_along_k ? p.a_column : p.a_row, count);
  }
  GPU_DEVICE Pack<T, kCount> B(int64_t k, int64_t column, int64_t end) const {
    const int64_t count = b_along_k ? (column < p.n ? end - k : 0) : (k < end ? p.n - column : 0);
    return LoadPack<T, kCount>(b, k * p.b_row + column * p.b_column, b_along_k ? p.b_row : p.b_column, count);
  }
};

// The epilogue of one element.
template <class A>
GPU_CALL void FinishMatmul(const MatmulParams& p, int64_t batch, int64_t row, int64_t column, A value) {
  if (p.alpha != 1) value *= static_cast<A>(p.alpha);
  if (p.rounded) value = Rounded(p.y_type, value);
  if (p.has_c) {
    const A c = Load<A>(p.c, p.c_type, batch * p.c_batch + row * p.c_row + column * p.c_column);
    value = MultiplyAdd(static_cast<A>(p.beta), c, value);
  }
  if (p.has_bias) value += Load<A>(p.bias, p.bias_type, column * p.bias_column);
  Store(p.y, p.y_type, batch * p.y_batch + row * p.y_row + column * p.y_column, value);
}

// Block: a tile of one part of one batch element.
template <class T, class Shape>
GPU_KERNEL void TiledMatmul(const GPU_CONSTANT MatmulParams p) {
  using A = Acc<T>;
  GPU_SHARED TileMemory<A, Shape> memory;
  const int thread = static_cast<int>(threadIdx.x);
  const TileAt at = TileOf<Shape>(blockIdx.x, p.m, p.n);
  const int64_t batch = at.stack / p.parts, part = at.stack % p.parts;
  const MatmulFactors<T, kPack> factors{p, static_cast<const T*>(p.a) + batch * p.a_batch,
                                        static_cast<const T*>(p.b) + batch * p.b_batch, p.a_along_k != 0,
                                        p.b_along_k != 0};
  TileProduct<A, Shape, MatmulFactors<T, kPack>> product{
      factors, memory, at.row, at.column, Least((part + 1) * p.part, p.k), thread, {}, {}};
  A sum[Shape::kThreadRows][Shape::kThreadColumns];
  product.Run(part * p.part, p.m, sum);
#pragma unroll
  for (int i = 0; i < Shape::kThreadRows; ++i) {
#pragma unroll
    for (int j = 0; j < Shape::kThreadColumns; ++j) {
      const int64_t row = at.row + Shape::Row(thread, i), column = at.column + Shape::Column(thread, j);
      if (row >= p.m || column >= p.n) continue;
      if (p.parts == 1) {
        FinishMatmul(p, batch, row, column, sum[i][j]);
      } else {
        static_cast<A*>(p.sums)[(at.stack * p.m + row) * p.n + column] = sum[i][j];
      }
    }
  }
}

// A thread per element of y.
template <class A>
GPU_KERNEL void CombineParts(const GPU_CONSTANT MatmulParams p) {
  const int64_t element = static_cast<int64_t>(blockIdx.x) * kTileThreads + threadIdx.x;
  if (element >= p.batch * p.m * p.n) return;
  const int64_t column = element % p.n, row = element / p.n % p.m, batch = element / p.n / p.m;
  const A* part = static_cast<const A*>(p.sums) + (batch * p.parts * p.m + row) * p.n + column;
  A sum = part[0];
  for (int64_t i = 1; i < p.parts; ++i) sum += part[i * p.m * p.n];
  FinishMatmul(p, batch, row, column, sum);
}

}  // namespace gpu
