// SPDX-License-Identifier: Apache-2.0
// The inner loop of the direct convolution: one tap of one input row, added to the same row of several outputs.
#pragma once

#include <cstdint>

namespace cpu {

inline constexpr int64_t kConvOutputs = 4;  // output channels that share each load of x

// sums[r * lds + p] += weights[r * ldw] * line[p] for r < kConvOutputs and p < count.
template <class T>
struct TapUpdate {
  const T* line;
  const T* weights;
  int64_t ldw;
  T* sums;
  int64_t lds;
  int64_t count;
};

void AddTap(const TapUpdate<double>& u);
void AddTap(const TapUpdate<float>& u);
void AddTap(const TapUpdate<int32_t>& u);

}  // namespace cpu
