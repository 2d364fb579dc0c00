// SPDX-License-Identifier: Apache-2.0
// argmax and argmin: the position of the first extreme element in row-major order over the reduced axes.
#pragma once

#include "backends/gpu/device/math.h"
#include "backends/gpu/device/reduce_params.h"

namespace gpu {

template <class A>
struct Best {
  A value;
  int64_t at;  // -1: none yet
};

// Whether b stands before a: a greater (less) value, NaN above all unless skipped, and the lower position of equals.
template <class A>
GPU_FN bool Beats(bool greatest, bool skip_nan, const Best<A>& b, const Best<A>& a) {
  const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
  if (b.at < 0 || (skip_nan && b_is_nan)) return false;
  if (a.at < 0) return true;
  if (b.value == a.value || (a_is_nan && b_is_nan)) return b.at < a.at;
  if (a_is_nan || b_is_nan) return b_is_nan;
  return greatest ? b.value > a.value : b.value < a.value;
}

template <class T>
GPU_DEVICE Best<Acc<T>> BestOf(const ReduceParams& p, const T* x, int64_t begin, int64_t step) {
  Best<Acc<T>> best{Acc<T>{0}, -1};
  for (int64_t i = begin; i < p.count; i += step) {
    const Best<Acc<T>> next{ToAcc(x[ReducedOffset(p, i)]), i};
    if (Beats(p.fold == Fold::kArgMax, p.skip_nan != 0, next, best)) best = next;
  }
  return best;
}

GPU_DEVICE void StorePosition(const ReduceParams& p, int64_t to, int64_t at) {
  static_cast<int64_t*>(p.y)[to] = Most(at, 0);  // NaN everywhere, all of it skipped
}

template <class T>
GPU_KERNEL void SequentialArg(const GPU_CONSTANT ReduceParams p) {
  const int64_t output = static_cast<int64_t>(blockIdx.x) * kReduceThreads + threadIdx.x;
  if (output >= p.outputs) return;
  const OffsetPair to = OffsetsOf(output, p.kept_axes, p.kept_size, p.kept_in, p.kept_out);
  StorePosition(p, to.out, BestOf(p, static_cast<const T*>(p.x) + to.in, 0, 1).at);
}

template <class T>
GPU_KERNEL void TreeArg(const GPU_CONSTANT ReduceParams p) {
  GPU_SHARED Best<Acc<T>> values[kReduceThreads];
  const OffsetPair to = OffsetsOf(blockIdx.x, p.kept_axes, p.kept_size, p.kept_in, p.kept_out);
  const Best<Acc<T>> own = BestOf(p, static_cast<const T*>(p.x) + to.in, threadIdx.x, kReduceThreads);
  const Best<Acc<T>> best =
      BlockCombine<kReduceThreads>(own, values, [&](const Best<Acc<T>>& a, const Best<Acc<T>>& b) {
        return Beats(p.fold == Fold::kArgMax, p.skip_nan != 0, b, a) ? b : a;
      });
  if (threadIdx.x == 0) StorePosition(p, to.out, best.at);
}

}  // namespace gpu
