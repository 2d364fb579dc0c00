// SPDX-License-Identifier: Apache-2.0
// Parameters of kernels that apply a function to single elements.
#pragma once

#include "backends/gpu/device/tags.h"

namespace gpu {

enum class PointFunction : int32_t { kExp, kLog, kTanh, kErf, kRsqrt, kGelu, kGeluByTanh, kSiluAndMul };

// Rows of elements, with strides in elements.
struct PointOperand {
  void* data = nullptr;
  Tag type{};
  int64_t row_step = 0, step = 0;
};

struct PointParams {
  PointOperand x, y;
  PointFunction function{};
  int64_t rows = 1, size = 0;  // of y; kSiluAndMul: rows of x are twice as long
};

}  // namespace gpu
