// SPDX-License-Identifier: Apache-2.0
// Matmul on matrix units, operands in f16 or bf16, sums in f32.
#pragma once

#include "backends/gpu/device/matmul.h"
#include "backends/gpu/device/unit_tile.h"

namespace gpu {

template <class T, bool kAlongK>
GPU_KERNEL void UnitMatmul(const GPU_CONSTANT MatmulParams p) {
  using Product = UnitProduct<T, kAlongK, MatmulFactors<T, kUnitPack>>;
  GPU_SHARED UnitTileMemory<T, kAlongK> memory;
  const TileAt at = TileOf<UnitShape>(blockIdx.x, p.m, p.n);
  const MatmulFactors<T, kUnitPack> factors{p, static_cast<const T*>(p.a) + at.stack * p.a_batch,
                                            static_cast<const T*>(p.b) + at.stack * p.b_batch, p.a_along_k != 0,
                                            kAlongK};
  const Product product{factors, memory, at.row, at.column, p.k, static_cast<int>(threadIdx.x)};
  typename Product::Sums sum;
  product.Run(sum);
  product.ForEach(sum, [&](int64_t row, int64_t column, float value) {
    if (row < p.m && column < p.n) FinishMatmul(p, at.stack, row, column, value);
  });
}

}  // namespace gpu
