// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/attention_kernel.h"

#include "backends/cpu/widths.h"

namespace cpu {

ASSAY_CPU_WIDTHS void AddScaled(float f, const float* x, float* y, int64_t n) {
  for (int64_t j = 0; j < n; ++j) y[j] += f * x[j];
}
ASSAY_CPU_WIDTHS void AddScaled(double f, const double* x, double* y, int64_t n) {
  for (int64_t j = 0; j < n; ++j) y[j] += f * x[j];
}

}  // namespace cpu
