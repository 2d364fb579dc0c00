// SPDX-License-Identifier: Apache-2.0
// The inner loops of attention, one body per vector width.
#pragma once

#include <cstdint>

namespace cpu {

// y[j] += f * x[j], multiplied and added apart.
void AddScaled(float f, const float* x, float* y, int64_t n);
void AddScaled(double f, const double* x, double* y, int64_t n);

}  // namespace cpu
