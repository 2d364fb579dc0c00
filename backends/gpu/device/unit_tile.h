// SPDX-License-Identifier: Apache-2.0
// One tile of a product of f16 or bf16 matrices on matrix units: kRows x kColumns sums in f32 by the waves of a
// block, two side by side. Factors as in tile.h, but packs of 8 as they are stored; B lies in shared memory along k or
// along the columns, whichever way it lies in memory.
#pragma once

#include "backends/gpu/device/tile_shape.h"
#include "backends/gpu/device/unit.h"

namespace gpu {

inline constexpr int kUnitPack = 8;

template <class T, bool kAlongK>
struct alignas(16) UnitTileMemory {
  static constexpr int kPitchA = UnitShape::kDepth + 8;
  static constexpr int kPitchB = kAlongK ? UnitShape::kDepth + 8 : UnitShape::kColumns + 8;
  T a[UnitShape::kRows * kPitchA];
  T b[(kAlongK ? UnitShape::kColumns : UnitShape::kDepth) * kPitchB];
};

template <class T, bool kAlongK, class Factors>
struct UnitProduct {
  using Memory = UnitTileMemory<T, kAlongK>;
  using Line = Pack<T, kUnitPack>;
  using Wave = WaveShape<Unit<T>::kWaves>;
  static constexpr int kLanes = Unit<T>::kLanes, kThreads = Unit<T>::kWaves * kLanes;
  static constexpr int kPacks = UnitShape::kRows * UnitShape::kDepth / kUnitPack;  // of either operand
  static constexpr int kOwn = kPacks / kThreads;
  static constexpr int kDown = Wave::kRows / 16, kAcross = Wave::kColumns / 16;  // tiles of a wave
  static_assert(UnitShape::kRows == UnitShape::kColumns && kPacks % kThreads == 0);
  using Sums = float[kDown][kAcross][Unit<T>::kSums];

  const Factors& factors;
  Memory& memory;
  int64_t row, column, end;
  int thread;

  GPU_DEVICE void Fetch(int64_t k, Line (&a)[kOwn], Line (&b)[kOwn]) const {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const PackAt at =
          PackOf<UnitShape::kRows, UnitShape::kDepth, kUnitPack>(i * kThreads + thread, factors.a_along_k);
      a[i] = factors.A(row + at.outer, k + at.depth, end);
    }
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const PackAt at = PackOf<UnitShape::kColumns, UnitShape::kDepth, kUnitPack>(i * kThreads + thread, kAlongK);
      b[i] = factors.B(k + at.depth, column + at.outer, end);
    }
  }

  GPU_DEVICE void Put(const Line (&a)[kOwn], const Line (&b)[kOwn]) const {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const PackAt at =
          PackOf<UnitShape::kRows, UnitShape::kDepth, kUnitPack>(i * kThreads + thread, factors.a_along_k);
      if (factors.a_along_k) {
        *reinterpret_cast<Line*>(memory.a + at.outer * Memory::kPitchA + at.depth) = a[i];
      } else {
#pragma unroll
        for (int e = 0; e < kUnitPack; ++e) memory.a[(at.outer + e) * Memory::kPitchA + at.depth] = a[i].at[e];
      }
    }
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const PackAt at = PackOf<UnitShape::kColumns, UnitShape::kDepth, kUnitPack>(i * kThreads + thread, kAlongK);
      const int offset = kAlongK ? at.outer * Memory::kPitchB + at.depth : at.depth * Memory::kPitchB + at.outer;
      *reinterpret_cast<Line*>(memory.b + offset) = b[i];
    }
  }

  // The first row and column of this thread's wave within the tile.
  GPU_DEVICE int WaveRow() const {
    return Wave::Row(thread / kLanes);
  }
  GPU_DEVICE int WaveColumn() const {
    return Wave::Column(thread / kLanes);
  }

  GPU_DEVICE void Multiply(Sums& sum) const {
    const int lane = thread % kLanes;
#pragma unroll
    for (int k = 0; k < UnitShape::kDepth; k += 16) {
      typename Unit<T>::A a[kDown];
#pragma unroll
      for (int i = 0; i < kDown; ++i) {
        a[i] = Unit<T>::LoadA(memory.a + (WaveRow() + 16 * i) * Memory::kPitchA + k, Memory::kPitchA, lane);
      }
#pragma unroll
      for (int j = 0; j < kAcross; ++j) {
        const int at = WaveColumn() + 16 * j;
        const typename Unit<T>::B b = Unit<T>::template LoadB<kAlongK>(
            memory.b + (kAlongK ? at * Memory::kPitchB + k : k * Memory::kPitchB + at), Memory::kPitchB, lane);
#pragma unroll
        for (int i = 0; i < kDown; ++i) Unit<T>::MultiplyAdd(a[i], b, sum[i][j]);
      }
    }
  }

  GPU_DEVICE void Run(Sums& sum) const {
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
#pragma unroll
      for (int j = 0; j < kAcross; ++j) {
#pragma unroll
        for (int e = 0; e < Unit<T>::kSums; ++e) sum[i][j][e] = 0;
      }
    }
    Line a[kOwn], b[kOwn];
    Fetch(0, a, b);
    for (int64_t k = 0; k < end; k += UnitShape::kDepth) {
      Put(a, b);
      Sync();
      if (k + UnitShape::kDepth < end) Fetch(k + UnitShape::kDepth, a, b);
      Multiply(sum);
      Sync();
    }
  }

  // finish(row, column, sum) for the sums of this thread, in the matrix.
  template <class Finish>
  GPU_DEVICE void ForEach(const Sums& sum, const Finish& finish) const {
    const int lane = thread % kLanes;
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
#pragma unroll
      for (int j = 0; j < kAcross; ++j) {
#pragma unroll
        for (int e = 0; e < Unit<T>::kSums; ++e) {
          finish(row + WaveRow() + 16 * i + Unit<T>::Row(lane, e),
                 column + WaveColumn() + 16 * j + Unit<T>::Column(lane, e), sum[i][j][e]);
        }
      }
    }
  }
};

}  // namespace gpu
