// SPDX-License-Identifier: Apache-2.0
// Flash attention on matrix units, in f16 or bf16, head dimensions up to kDepth. Four waves of a block have 16 queries
// each; a block of 64 keys is multiplied, its weights rounded to T and multiplied by the values. A lane keeps maximum,
// sum and output of the rows that it holds. Where values are not finite and some weight is masked, the unit would make
// 0 * inf of what nobody asked for: then that block's values are added one by one.
#pragma once

#include "backends/gpu/device/attention.h"
#include "backends/gpu/device/unit_tile.h"

namespace gpu {

inline constexpr int kUnitKeys = 64;

template <class T, int kDepth>
struct alignas(16) UnitFlashMemory {
  static constexpr int kPitch = kDepth + 8, kWeightPitch = kUnitKeys + 8;
  T q[kUnitQueries * kPitch];
  T keys[kUnitKeys * kPitch];  // then the values of the same block
  T weights[kUnitQueries * kWeightPitch];
  int odd[2];  // whether some value is not finite; blocks take turns
};

GPU_DEVICE bool IsFinite16(Half x) {
  return (x.bits & 0x7C00u) != 0x7C00u;
}
GPU_DEVICE bool IsFinite16(BFloat x) {
  return (x.bits & 0x7F80u) != 0x7F80u;
}

template <class T, int kDepth>
struct UnitFlash {
  using U = Unit<T>;
  using Memory = UnitFlashMemory<T, kDepth>;
  using Line = Pack<T, kUnitPack>;
  static constexpr int kThreads = kFlashWaves * U::kLanes, kTiles = kDepth / 16, kKeyTiles = kUnitKeys / 16;
  static constexpr int kLines = kUnitKeys * kDepth / kUnitPack, kOwn = kLines / kThreads;
  static_assert(kLines % kThreads == 0 && kUnitQueries == kUnitKeys);

  const AttentionParams& p;
  const AttentionHead<T> at;
  Memory& memory;
  const int64_t first_query;
  const int thread, lane, wave_row;  // wave_row: the wave's first query within the block
  float top[U::kSlots], sum[U::kSlots], seen[U::kSlots];
  float out[kTiles][U::kSums];

  // Rows [first, first + 64) of an operand, zeros outside.
  GPU_DEVICE void Fetch(const T* head, const int64_t* strides, int64_t first, int64_t rows, int64_t depth,
                        Line (&lines)[kOwn]) const {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const PackAt pack = PackOf<kUnitKeys, kDepth, kUnitPack>(i * kThreads + thread, true);
      const int64_t row = first + pack.outer;
      lines[i] = LoadPack<T, kUnitPack>(head, row * strides[2] + pack.depth * strides[3], strides[3],
                                        row < rows ? depth - pack.depth : 0);
    }
  }
  GPU_DEVICE void Put(const Line (&lines)[kOwn], T* to) const {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const PackAt pack = PackOf<kUnitKeys, kDepth, kUnitPack>(i * kThreads + thread, true);
      *reinterpret_cast<Line*>(to + pack.outer * Memory::kPitch + pack.depth) = lines[i];
    }
  }

  GPU_DEVICE void Begin() {
    Line lines[kOwn];
    Fetch(at.Q(0), p.q_at, first_query, p.l, p.d, lines);
    Put(lines, memory.q);
    if (thread < 2) memory.odd[thread] = 0;
#pragma unroll
    for (int i = 0; i < U::kSlots; ++i) top[i] = -Infinity<float>(), sum[i] = 0, seen[i] = 0;
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int e = 0; e < U::kSums; ++e) out[j][e] = 0;
    }
  }

  GPU_DEVICE void Dots(float (&score)[kKeyTiles][U::kSums]) const {
#pragma unroll
    for (int j = 0; j < kKeyTiles; ++j) {
#pragma unroll
      for (int e = 0; e < U::kSums; ++e) score[j][e] = 0;
    }
#pragma unroll
    for (int c = 0; c < kDepth; c += 16) {
      const typename U::A q = U::LoadA(memory.q + wave_row * Memory::kPitch + c, Memory::kPitch, lane);
#pragma unroll
      for (int j = 0; j < kKeyTiles; ++j) {
        const typename U::B k =
            U::template LoadB<true>(memory.keys + 16 * j * Memory::kPitch + c, Memory::kPitch, lane);
        U::MultiplyAdd(q, k, score[j]);
      }
    }
  }

  // Scores become weights; a masked one is -inf before and below zero after.
  GPU_DEVICE void Weigh(int64_t block, float (&score)[kKeyTiles][U::kSums]) {
    float greatest[U::kSlots];
#pragma unroll
    for (int i = 0; i < U::kSlots; ++i) greatest[i] = top[i];
#pragma unroll
    for (int e = 0; e < U::kSums; ++e) {
      const int64_t query = first_query + wave_row + U::Row(lane, e);
      const KeyRange keys = KeysOf(p, Least(query, p.l - 1));
#pragma unroll
      for (int j = 0; j < kKeyTiles; ++j) {
        const int64_t key = block + 16 * j + U::Column(lane, e);
        const float mask = query < p.l && key < p.s ? at.Mask(query, key, keys) : -Infinity<float>();
        const bool masked = mask == -Infinity<float>();
        score[j][e] = masked ? -Infinity<float>() : at.Score(score[j][e], mask);
        if (!masked) seen[U::Slot(e)] = 1;
        greatest[U::Slot(e)] = Greatest(greatest[U::Slot(e)], score[j][e]);
      }
    }
    float rescale[U::kSlots];
#pragma unroll
    for (int i = 0; i < U::kSlots; ++i) {
      greatest[i] = U::AcrossRow(greatest[i], GreatestOf{});
      rescale[i] = greatest[i] == top[i] ? 1.0f : Exp(top[i] - greatest[i]);
      top[i] = greatest[i], sum[i] *= rescale[i];
    }
#pragma unroll
    for (int j = 0; j < kKeyTiles; ++j) {
#pragma unroll
      for (int e = 0; e < U::kSums; ++e) {
        const bool none = score[j][e] == -Infinity<float>();
        score[j][e] = none ? static_cast<float>(kMasked) : Exp(score[j][e] - top[U::Slot(e)]);
        if (!none) sum[U::Slot(e)] += score[j][e];
      }
    }
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int e = 0; e < U::kSums; ++e) out[j][e] *= rescale[U::Slot(e)];
    }
  }

  GPU_DEVICE void PutWeights(const float (&weight)[kKeyTiles][U::kSums], bool odd) const {
#pragma unroll
    for (int j = 0; j < kKeyTiles; ++j) {
#pragma unroll
      for (int e = 0; e < U::kSums; ++e) {
        const bool masked = weight[j][e] < 0 && !odd;
        memory.weights[(wave_row + U::Row(lane, e)) * Memory::kWeightPitch + 16 * j + U::Column(lane, e)] =
            Narrow<T>(masked ? 0.0f : weight[j][e]);
      }
    }
  }

  GPU_DEVICE void AddValues() {
#pragma unroll
    for (int k = 0; k < kUnitKeys; k += 16) {
      const typename U::A weights =
          U::LoadA(memory.weights + wave_row * Memory::kWeightPitch + k, Memory::kWeightPitch, lane);
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
        const typename U::B values =
            U::template LoadB<false>(memory.keys + k * Memory::kPitch + 16 * j, Memory::kPitch, lane);
        U::MultiplyAdd(weights, values, out[j]);
      }
    }
  }

  GPU_DEVICE void AddValuesOneByOne() {
#pragma unroll 1
    for (int k = 0; k < kUnitKeys; ++k) {
#pragma unroll
      for (int e = 0; e < U::kSums; ++e) {
        const float weight = ToAcc(memory.weights[(wave_row + U::Row(lane, e)) * Memory::kWeightPitch + k]);
        if (weight < 0) continue;
#pragma unroll
        for (int j = 0; j < kTiles; ++j) {
          const float value = ToAcc(memory.keys[k * Memory::kPitch + 16 * j + U::Column(lane, e)]);
          out[j][e] = MultiplyAdd(weight, value, out[j][e]);
        }
      }
    }
  }

  GPU_DEVICE void Step(int64_t block, int turn) {
    Line lines[kOwn];
    Fetch(at.K(0), p.k_at, block, p.s, p.d, lines);
    Put(lines, memory.keys);
    Sync();
    Fetch(at.V(0), p.v_at, block, p.s, p.dv, lines);
    bool finite = true;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
#pragma unroll
      for (int e = 0; e < kUnitPack; ++e) finite = finite && IsFinite16(lines[i].at[e]);
    }
    if (!finite) memory.odd[turn] = 1;
    float score[kKeyTiles][U::kSums];
    Dots(score);
    Weigh(block, score);
    Sync();  // everybody has read the keys
    const bool odd = memory.odd[turn] != 0;
    if (thread == 0) memory.odd[turn ^ 1] = 0;
    Put(lines, memory.keys);
    PutWeights(score, odd);
    Sync();
    if (odd) {
      AddValuesOneByOne();
    } else {
      AddValues();
    }
    Sync();  // everybody has read the values
  }

  GPU_DEVICE void End() {
#pragma unroll
    for (int i = 0; i < U::kSlots; ++i) {
      sum[i] = U::AcrossRow(sum[i], SumOf{}), seen[i] = U::AcrossRow(seen[i], GreatestOf{});
    }
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int e = 0; e < U::kSums; ++e) {
        const int64_t query = first_query + wave_row + U::Row(lane, e), column = 16 * j + U::Column(lane, e);
        if (query >= p.l || column >= p.dv) continue;
        at.StoreO(query, column, seen[U::Slot(e)] > 0 ? out[j][e] / sum[U::Slot(e)] : at.EmptyRow());
      }
    }
  }
};

template <class T, int kDepth>
GPU_KERNEL void UnitFlashAttention(const GPU_CONSTANT AttentionParams p) {
  using Flash = UnitFlash<T, kDepth>;
  GPU_SHARED UnitFlashMemory<T, kDepth> memory;
  const int64_t blocks = CeilDiv(p.l, kUnitQueries), head = blockIdx.x / blocks;
  const int thread = static_cast<int>(threadIdx.x), lanes = Flash::U::kLanes;
  Flash flash{p,
              {p, head / p.heads, head % p.heads},
              memory,
              blockIdx.x % blocks * kUnitQueries,
              thread,
              thread % lanes,
              thread / lanes * 16,
              {},
              {},
              {},
              {}};
  flash.Begin();
  const int64_t last = KeysOf(p, Least(flash.first_query + kUnitQueries, p.l) - 1).last;
  int turn = 0;
  for (int64_t block = KeysOf(p, flash.first_query).first / kUnitKeys * kUnitKeys; block < last; block += kUnitKeys) {
    flash.Step(block, turn);
    turn ^= 1;
  }
  flash.End();
}

}  // namespace gpu
