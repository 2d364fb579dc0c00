// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/conv_kernel.h"

#include "backends/cpu/widths.h"

namespace cpu {
namespace {

template <class T>
[[gnu::always_inline]] inline void AddThisTap(const TapUpdate<T>& u) {
  const T w0 = u.weights[0], w1 = u.weights[u.ldw], w2 = u.weights[2 * u.ldw], w3 = u.weights[3 * u.ldw];
  const T* __restrict line = u.line;
  T* __restrict s0 = u.sums;
  T* __restrict s1 = s0 + u.lds;
  T* __restrict s2 = s1 + u.lds;
  T* __restrict s3 = s2 + u.lds;
  for (int64_t p = 0; p < u.count; ++p) {
    s0[p] += w0 * line[p];
    s1[p] += w1 * line[p];
    s2[p] += w2 * line[p];
    s3[p] += w3 * line[p];
  }
}
static_assert(kConvOutputs == 4);

}  // namespace

ASSAY_CPU_WIDTHS void AddTap(const TapUpdate<double>& u) {
  AddThisTap(u);
}
ASSAY_CPU_WIDTHS void AddTap(const TapUpdate<float>& u) {
  AddThisTap(u);
}
ASSAY_CPU_WIDTHS void AddTap(const TapUpdate<int32_t>& u) {
  AddThisTap(u);
}

}  // namespace cpu
