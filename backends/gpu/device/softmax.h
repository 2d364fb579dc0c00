// SPDX-License-Identifier: Apache-2.0
// Softmax of rows, a block per row.
#pragma once

#include "backends/gpu/device/math.h"
#include "backends/gpu/device/reduce_params.h"

namespace gpu {

template <class T>
struct SoftmaxRow {
  using A = Acc<T>;
  const SoftmaxParams& p;
  const T* x;
  T* y;

  GPU_DEVICE static SoftmaxRow Of(const SoftmaxParams& p) {
    const OffsetPair at = OffsetsOf(blockIdx.x, p.axes, p.axis_size, p.axis_x, p.axis_y);
    return {p, static_cast<const T*>(p.x) + at.in, static_cast<T*>(p.y) + at.out};
  }
  GPU_DEVICE A X(int64_t i) const { return ToAcc(x[i * p.x_step]); }
  GPU_DEVICE void Write(A top, A sum) const {
    const A log_sum = Log(sum);
    for (int64_t i = threadIdx.x; i < p.size; i += kReduceThreads) {
      const A shifted = X(i) - top;
      const A value = p.log ? shifted - log_sum : Exp(shifted) / sum;
      if constexpr (sizeof(T) == 2) {
        y[i * p.y_step] = Narrow<T>(value);
      } else {
        y[i * p.y_step] = value;
      }
    }
  }
};

// For its maximum, for the sum of exponentials, for the result.
template <class T>
GPU_KERNEL void ThreePassSoftmax(const GPU_CONSTANT SoftmaxParams p) {
  using A = Acc<T>;
  GPU_SHARED A values[kReduceThreads];
  const auto row = SoftmaxRow<T>::Of(p);
  A own = -Infinity<A>();
  for (int64_t i = threadIdx.x; i < p.size; i += kReduceThreads) own = Greatest(own, row.X(i));
  const A top = BlockCombine<kReduceThreads>(own, values, GreatestOf{});
  own = 0;
  for (int64_t i = threadIdx.x; i < p.size; i += kReduceThreads) own += Exp(row.X(i) - top);
  row.Write(top, BlockCombine<kReduceThreads>(own, values, SumOf{}));
}

// Maximum and sum in one pass (Milakov and Gimelshein, arXiv 1805.02867).
template <class T>
GPU_KERNEL void OnlineSoftmax(const GPU_CONSTANT SoftmaxParams p) {
  using A = Acc<T>;
  GPU_SHARED A values[kReduceThreads];
  const auto row = SoftmaxRow<T>::Of(p);
  A own = -Infinity<A>(), sum = 0;
  for (int64_t i = threadIdx.x; i < p.size; i += kReduceThreads) {
    const A value = row.X(i), greater = Greatest(own, value);
    if (greater == -Infinity<A>()) continue;  // nothing but -inf so far: the sum stays zero
    sum = sum * Exp(own - greater) + Exp(value - greater);
    own = greater;
  }
  const A top = BlockCombine<kReduceThreads>(own, values, GreatestOf{});
  // A thread that saw nothing but -inf has no part in the sum; if all of them did: 0 / 0, as the formula says.
  const A part = own == -Infinity<A>() ? A{0} : sum * Exp(own - top);
  row.Write(top, BlockCombine<kReduceThreads>(part, values, SumOf{}));
}

}  // namespace gpu
