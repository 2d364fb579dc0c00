// SPDX-License-Identifier: Apache-2.0
// Convolution: a thread per output, and as a matrix product w[outputs, terms] times patches[terms, positions] that
// exist in shared memory only.
#pragma once

#include "backends/gpu/device/conv_params.h"
#include "backends/gpu/device/tile.h"
#include "backends/gpu/device/unit_tile.h"

namespace gpu {

template <class A>
GPU_CALL void FinishConv(const ConvParams& p, int64_t image, int64_t output, int32_t position, A value) {
  if (p.has_bias) value += Load<A>(p.bias, p.bias_type, output * p.bias_at);
  Store(p.y, p.y_type, image * p.y_outer + output * p.y_inner + Along(p.y_at, Split(p.out, position)), value);
}

// Terms in the order (c, taps); padding is left out of the sum.
template <class T>
GPU_KERNEL void DirectConv(const GPU_CONSTANT ConvParams p) {
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kConvThreads + threadIdx.x, positions = p.Positions();
  if (index >= p.n * int64_t{p.groups} * p.o * positions) return;
  const auto position = static_cast<int32_t>(index % positions);
  const int64_t output = index / positions % (int64_t{p.groups} * p.o), image = index / positions / p.groups / p.o;
  const Index3 at = Split(p.out, position);
  const T* x = static_cast<const T*>(p.x) + image * p.x_outer + output / p.o * p.c * p.x_inner;
  const T* w = static_cast<const T*>(p.w) + output * p.w_outer;
  Acc<T> sum = 0;
  for (int32_t c = 0; c < p.c; ++c) {
    for (int32_t t = 0; t < p.Taps(); ++t) {
      const Index3 tap = Split(p.kernel, t);
      const Sight sight = See(p, at, tap);
      if (!sight.seen) continue;
      sum = MultiplyAdd(ToAcc(w[c * p.w_inner + Along(p.w_at, tap)]), ToAcc(x[c * p.x_inner + sight.offset]), sum);
    }
  }
  FinishConv(p, image, output, position, sum);
}

template <class T, int kCount>
struct ConvFactors {
  using Element = T;
  const ConvParams& p;
  const T *w, *x;
  static constexpr bool a_along_k = true, b_along_k = false;

  // Weights of consecutive terms.
  GPU_DEVICE Pack<T, kCount> A(int64_t output, int64_t term, int64_t end) const {
    const int64_t count = output < p.o ? end - term : 0;
    if (p.dense) return LoadPack<T, kCount>(w, output * p.w_outer + term, 1, count);
    Pack<T, kCount> pack;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const auto at = static_cast<int32_t>(term) + i;
      const int64_t offset = at / p.Taps() * p.w_inner + Along(p.w_at, Split(p.kernel, at % p.Taps()));
      pack.at[i] = i < count ? w[output * p.w_outer + offset] : T{};
    }
    return pack;
  }

  // One term, read where each of consecutive positions sees it.
  GPU_DEVICE Pack<T, kCount> B(int64_t term, int64_t position, int64_t end) const {
    const auto c = static_cast<int32_t>(term) / p.Taps();
    const Index3 tap = Split(p.kernel, static_cast<int32_t>(term) % p.Taps());
    Index3 at = Split(p.out, static_cast<int32_t>(position));
    const int32_t positions = p.Positions();
    Pack<T, kCount> pack;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const Sight sight = See(p, at, tap);
      const bool inside = sight.seen && term < end && position + i < positions;
      pack.at[i] = inside ? x[c * p.x_inner + sight.offset] : T{};
      for (int axis = 2; axis >= 0 && ++at.at[axis] == p.out[axis]; --axis) at.at[axis] = 0;  // the next position
    }
    return pack;
  }
};

// The operands of one image and group.
template <class T, int kCount>
GPU_DEVICE ConvFactors<T, kCount> FactorsOf(const ConvParams& p, int64_t stack) {
  const int64_t image = stack / p.groups, group = stack % p.groups;
  return {p, static_cast<const T*>(p.w) + group * p.o * p.w_outer,
          static_cast<const T*>(p.x) + image * p.x_outer + group * p.c * p.x_inner};
}

template <class T, class Shape>
GPU_KERNEL void GemmConv(const GPU_CONSTANT ConvParams p) {
  using A = Acc<T>;
  using Factors = ConvFactors<T, kPack>;
  GPU_SHARED TileMemory<A, Shape> memory;
  const int thread = static_cast<int>(threadIdx.x);
  const TileAt at = TileOf<Shape>(blockIdx.x, p.o, p.Positions());
  const Factors factors = FactorsOf<T, kPack>(p, at.stack);
  TileProduct<A, Shape, Factors> product{factors, memory, at.row, at.column, p.Terms(), thread, {}, {}};
  A sum[Shape::kThreadRows][Shape::kThreadColumns];
  product.Run(0, p.o, sum);
#pragma unroll
  for (int i = 0; i < Shape::kThreadRows; ++i) {
#pragma unroll
    for (int j = 0; j < Shape::kThreadColumns; ++j) {
      const int64_t row = at.row + Shape::Row(thread, i), column = at.column + Shape::Column(thread, j);
      if (row >= p.o || column >= p.Positions()) continue;
      FinishConv(p, at.stack / p.groups, at.stack % p.groups * p.o + row, static_cast<int32_t>(column), sum[i][j]);
    }
  }
}

template <class T>
GPU_KERNEL void UnitConv(const GPU_CONSTANT ConvParams p) {
  using Product = UnitProduct<T, false, ConvFactors<T, kUnitPack>>;
  GPU_SHARED UnitTileMemory<T, false> memory;
  const TileAt at = TileOf<UnitShape>(blockIdx.x, p.o, p.Positions());
  const auto factors = FactorsOf<T, kUnitPack>(p, at.stack);
  const Product product{factors, memory, at.row, at.column, p.Terms(), static_cast<int>(threadIdx.x)};
  typename Product::Sums sum;
  product.Run(sum);
  product.ForEach(sum, [&](int64_t row, int64_t column, float value) {
    if (row >= p.o || column >= p.Positions()) return;
    FinishConv(p, at.stack / p.groups, at.stack % p.groups * p.o + row, static_cast<int32_t>(column), value);
  });
}

}  // namespace gpu
