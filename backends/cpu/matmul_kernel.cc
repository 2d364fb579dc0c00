// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/matmul_kernel.h"

#include "backends/cpu/widths.h"

namespace cpu {
namespace {

template <class T>
[[gnu::always_inline]] inline void MultiplyThisPanel(const PanelProduct<T>& p) {
  for (int64_t row = 0; row < p.rows; row += kTileRows) {
    T sum[kTileRows][kTileColumns] = {};
    const T* a = p.a + row * p.lda;
    const T* b = p.b;
    for (int64_t k = 0; k < p.k; ++k, b += kTileColumns) {
      for (int64_t r = 0; r < kTileRows; ++r) {
        const T factor = a[r * p.lda + k];
        for (int64_t j = 0; j < kTileColumns; ++j) sum[r][j] += factor * b[j];
      }
    }
    for (int64_t r = 0; r < kTileRows; ++r) {
      T* out = p.out + (row + r) * p.ldo;
      for (int64_t j = 0; j < kTileColumns; ++j) out[j] = p.add ? out[j] + sum[r][j] : sum[r][j];
    }
  }
}

}  // namespace

ASSAY_CPU_WIDTHS void MultiplyPanel(const PanelProduct<double>& p) {
  MultiplyThisPanel(p);
}
ASSAY_CPU_WIDTHS void MultiplyPanel(const PanelProduct<float>& p) {
  MultiplyThisPanel(p);
}
ASSAY_CPU_WIDTHS void MultiplyPanel(const PanelProduct<int32_t>& p) {
  MultiplyThisPanel(p);
}

}  // namespace cpu
