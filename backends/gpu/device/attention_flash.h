// SPDX-License-Identifier: Apache-2.0
// Attention by blocks of keys with running maximum and sum (Dao et al., arXiv 2205.14135). A block has kFlashQueries
// queries of one head, 16 threads to each. Blocks of keys begin at multiples of kFlashKeys, so that a query's bits do
// not depend on the queries beside it.
#pragma once

#include "backends/gpu/device/attention.h"

namespace gpu {

inline constexpr int kFlashKeys = 64, kFlashDepth = 32, kFlashColumns = 16;  // columns of a thread
inline constexpr int kFlashAcross = kAttentionThreads / kFlashQueries;
inline constexpr int kFlashOwnKeys = kFlashKeys / kFlashAcross;

template <class A>
struct FlashMemory {
  A q[kFlashQueries][kFlashDepth + 1], k[kFlashKeys][kFlashDepth + 1];
  A weights[kFlashQueries][kFlashKeys + 1], parts[kFlashQueries][kFlashAcross];
};

template <class T>
struct FlashBlock {
  using A = Acc<T>;
  const AttentionParams& p;
  AttentionHead<T> at;
  FlashMemory<A>& memory;
  int64_t first_query;
  int row, across;  // of this thread

  GPU_DEVICE int64_t Query() const { return first_query + row; }

  // dot[i] of this thread's query and key block + across + i * kFlashAcross.
  GPU_DEVICE void Dots(int64_t block, A (&dot)[kFlashOwnKeys]) const {
    const int thread = static_cast<int>(threadIdx.x);
    for (int i = 0; i < kFlashOwnKeys; ++i) dot[i] = 0;
    for (int64_t c = 0; c < p.d; c += kFlashDepth) {
      for (int e = thread; e < kFlashQueries * kFlashDepth; e += kAttentionThreads) {
        const int r = e / kFlashDepth, x = e % kFlashDepth;
        const bool inside = first_query + r < p.l && c + x < p.d;
        memory.q[r][x] = inside ? ToAcc(at.Q(first_query + r)[(c + x) * p.q_at[3]]) : A{0};
      }
      for (int e = thread; e < kFlashKeys * kFlashDepth; e += kAttentionThreads) {
        const int r = e / kFlashDepth, x = e % kFlashDepth;
        const bool inside = block + r < p.s && c + x < p.d;
        memory.k[r][x] = inside ? ToAcc(at.K(block + r)[(c + x) * p.k_at[3]]) : A{0};
      }
      Sync();
      for (int x = 0; x < kFlashDepth; ++x) {
        const A q = memory.q[row][x];
#pragma unroll
        for (int i = 0; i < kFlashOwnKeys; ++i) {
          dot[i] = MultiplyAdd(q, memory.k[across + i * kFlashAcross][x], dot[i]);
        }
      }
      Sync();
    }
  }

  // Over the threads of this thread's query; all of them get it.
  template <class Combine>
  GPU_DEVICE A AcrossRow(A own, const Combine& combine) const {
    memory.parts[row][across] = own;
    Sync();
    A result = memory.parts[row][0];
    for (int i = 1; i < kFlashAcross; ++i) result = combine(result, memory.parts[row][i]);
    Sync();
    return result;
  }

  GPU_DEVICE void AddValues(int64_t block, A rescale, A (&out)[kFlashColumns]) const {
    const int keys = static_cast<int>(Least(kFlashKeys, p.s - block));
#pragma unroll
    for (int c = 0; c < kFlashColumns; ++c) {
      const int64_t column = across + c * kFlashAcross;
      if (column >= p.dv) continue;
      A sum = out[c] * rescale;
      for (int j = 0; j < keys; ++j) {
        const A weight = memory.weights[row][j];
        if (weight >= 0 || IsNan(weight)) sum = MultiplyAdd(weight, ToAcc(at.V(block + j)[column * p.v_at[3]]), sum);
      }
      out[c] = sum;
    }
  }
};

template <class T>
GPU_KERNEL void FlashAttention(const GPU_CONSTANT AttentionParams p) {
  using A = Acc<T>;
  GPU_SHARED FlashMemory<A> memory;
  const int64_t blocks = CeilDiv(p.l, kFlashQueries), head = blockIdx.x / blocks;
  const int thread = static_cast<int>(threadIdx.x);
  const FlashBlock<T> own{p,
                          {p, head / p.heads, head % p.heads},
                          memory,
                          blockIdx.x % blocks * kFlashQueries,
                          thread / kFlashAcross,
                          thread % kFlashAcross};
  const bool inside = own.Query() < p.l;
  const KeyRange keys = KeysOf(p, Least(own.Query(), p.l - 1));
  const int64_t last_query = Least(own.first_query + kFlashQueries, p.l) - 1;
  const int64_t last = KeysOf(p, last_query).last;
  A top = -Infinity<A>(), sum = 0, out[kFlashColumns];
  for (int c = 0; c < kFlashColumns; ++c) out[c] = 0;
  A seen = 0;
  for (int64_t block = KeysOf(p, own.first_query).first / kFlashKeys * kFlashKeys; block < last; block += kFlashKeys) {
    A score[kFlashOwnKeys];
    bool masked[kFlashOwnKeys];
    own.Dots(block, score);
    A greatest = top;
#pragma unroll
    for (int i = 0; i < kFlashOwnKeys; ++i) {
      const int64_t key = block + own.across + i * kFlashAcross;
      const A mask = inside && key < p.s ? own.at.Mask(own.Query(), key, keys) : -Infinity<A>();
      masked[i] = mask == -Infinity<A>();
      if (masked[i]) continue;
      seen = 1;
      score[i] = own.at.Score(score[i], mask);
      greatest = Greatest(greatest, score[i]);
    }
    greatest = own.AcrossRow(greatest, GreatestOf{});
    const A rescale = greatest == top ? A{1} : Exp(top - greatest);
    top = greatest;
    sum *= rescale;
#pragma unroll
    for (int i = 0; i < kFlashOwnKeys; ++i) {
      // A block of scores of -inf alone adds nothing yet; in the end that is 0 / 0, as the formula says.
      const bool none = masked[i] || top == -Infinity<A>();
      const A weight = none ? A{kMasked} : Exp(score[i] - top);
      own.memory.weights[own.row][own.across + i * kFlashAcross] = weight;
      if (!none) sum += weight;
    }
    Sync();
    own.AddValues(block, rescale, out);
    Sync();
  }
  sum = own.AcrossRow(sum, SumOf{});
  seen = own.AcrossRow(seen, GreatestOf{});
  if (!inside) return;
#pragma unroll
  for (int c = 0; c < kFlashColumns; ++c) {
    const int64_t column = own.across + c * kFlashAcross;
    if (column < p.dv) own.at.StoreO(own.Query(), column, seen > 0 ? out[c] / sum : own.at.EmptyRow());
  }
}

}  // namespace gpu
