// SPDX-License-Identifier: Apache-2.0
// Attention: what its kernels share, and the one that keeps all scores. A masked key has the weight kMasked, and its
// value is never used.
#pragma once

#include "backends/gpu/device/attention_params.h"
#include "backends/gpu/device/math.h"

namespace gpu {

inline constexpr int kMasked = -1;

template <class A>
GPU_CALL A LoadMask(const AttentionParams& p, int64_t batch, int64_t head, int64_t query, int64_t key) {
  const int64_t at = RowOf(p.mask_at, batch, head, query) + key * p.mask_at[3];
  if (p.mask_form == MaskForm::kAdd) return Load<A>(p.mask, p.mask_type, at);
  return static_cast<const int8_t*>(p.mask)[at] != 0 ? A{0} : -Infinity<A>();
}

// Where a head's operands begin.
template <class T>
struct AttentionHead {
  const AttentionParams& p;
  int64_t batch, head;

  GPU_DEVICE const T* Q(int64_t query) const { return static_cast<const T*>(p.q) + RowOf(p.q_at, batch, head, query); }
  GPU_DEVICE const T* K(int64_t key) const {
    return static_cast<const T*>(p.k) + RowOf(p.k_at, batch, head / p.group, key);
  }
  GPU_DEVICE const T* V(int64_t key) const {
    return static_cast<const T*>(p.v) + RowOf(p.v_at, batch, head / p.group, key);
  }
  GPU_DEVICE void StoreO(int64_t query, int64_t column, Acc<T> value) const {
    T* to = static_cast<T*>(p.o) + RowOf(p.o_at, batch, head, query) + column * p.o_at[3];
    if constexpr (sizeof(T) == 2) {
      *to = Narrow<T>(value);
    } else {
      *to = value;
    }
  }

  // The mask's addend to a score; -inf: masked.
  GPU_DEVICE Acc<T> Mask(int64_t query, int64_t key, const KeyRange& keys) const {
    if (key < keys.first || key >= keys.last) return -Infinity<Acc<T>>();
    return p.mask_form == MaskForm::kNone ? Acc<T>{0} : LoadMask<Acc<T>>(p, batch, head, query, key);
  }
  GPU_DEVICE Acc<T> Score(Acc<T> dot, Acc<T> mask) const {
    using A = Acc<T>;
    A score = dot * static_cast<A>(p.scale);
    if (p.capped) score = static_cast<A>(p.softcap) * Tanh(score / static_cast<A>(p.softcap));
    return score + mask;
  }
  GPU_DEVICE Acc<T> EmptyRow() const { return p.masked_nan ? Infinity<Acc<T>>() - Infinity<Acc<T>>() : Acc<T>{0}; }
};

// A thread per score.
template <class T>
GPU_KERNEL void AttentionScores(const GPU_CONSTANT AttentionParams p) {
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kAttentionThreads + threadIdx.x;
  if (index >= p.batch * p.heads * p.l * p.s) return;
  const int64_t key = index % p.s, query = index / p.s % p.l, row = index / p.s / p.l;
  const AttentionHead<T> at{p, row / p.heads, row % p.heads};
  const T *q = at.Q(query), *k = at.K(key);
  Acc<T> dot = 0;
  for (int64_t c = 0; c < p.d; ++c) dot = MultiplyAdd(ToAcc(q[c * p.q_at[3]]), ToAcc(k[c * p.k_at[3]]), dot);
  static_cast<Acc<T>*>(p.scores)[index] = dot;
}

// A block per row of scores, which become weights.
template <class T>
GPU_KERNEL void AttentionWeights(const GPU_CONSTANT AttentionParams p) {
  using A = Acc<T>;
  GPU_SHARED A values[kAttentionThreads];
  const int64_t query = blockIdx.x % p.l, row = blockIdx.x / p.l;
  const AttentionHead<T> at{p, row / p.heads, row % p.heads};
  A* scores = static_cast<A*>(p.scores) + int64_t{blockIdx.x} * p.s;
  const KeyRange keys = KeysOf(p, query);
  A own = -Infinity<A>();
  for (int64_t j = threadIdx.x; j < p.s; j += kAttentionThreads) {
    const A mask = at.Mask(query, j, keys);
    if (mask == -Infinity<A>()) continue;
    scores[j] = at.Score(scores[j], mask);
    own = Greatest(own, scores[j]);
  }
  const A top = BlockCombine<kAttentionThreads>(own, values, GreatestOf{});
  own = 0;
  for (int64_t j = threadIdx.x; j < p.s; j += kAttentionThreads) {
    const bool masked = at.Mask(query, j, keys) == -Infinity<A>();
    scores[j] = masked ? A{kMasked} : Exp(scores[j] - top);
    if (!masked) own += scores[j];
  }
  const A sum = BlockCombine<kAttentionThreads>(own, values, SumOf{});
  for (int64_t j = threadIdx.x; j < p.s; j += kAttentionThreads) {
    scores[j] = scores[j] < 0 ? A{kMasked} : scores[j] / sum;
  }
}

// A thread per element of o.
template <class T>
GPU_KERNEL void AttentionValues(const GPU_CONSTANT AttentionParams p) {
  using A = Acc<T>;
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kAttentionThreads + threadIdx.x;
  if (index >= p.batch * p.heads * p.l * p.dv) return;
  const int64_t column = index % p.dv, query = index / p.dv % p.l, row = index / p.dv / p.l;
  const AttentionHead<T> at{p, row / p.heads, row % p.heads};
  const A* weights = static_cast<const A*>(p.scores) + index / p.dv * p.s;
  A sum = 0;
  bool seen = false;
  for (int64_t j = 0; j < p.s; ++j) {
    if (weights[j] < 0) continue;
    seen = true;
    sum = MultiplyAdd(weights[j], ToAcc(at.V(j)[column * p.v_at[3]]), sum);
  }
  at.StoreO(query, column, seen ? sum : at.EmptyRow());
}

}  // namespace gpu
