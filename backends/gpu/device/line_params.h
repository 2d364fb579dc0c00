// SPDX-License-Identifier: Apache-2.0
// Parameters of kernels of operators that compute lines.
#pragma once

#include "backends/gpu/device/reduce_params.h"

namespace gpu {

inline constexpr int kMostLineInputs = 4, kMostLineOutputs = 3;

enum class LineKernel : int32_t { kLayerNorm, kRmsNorm, kFusedAddRmsNorm, kSoftmaxBackward, kLogSoftmaxBackward };

// Strides in elements: along a line, and of the axes before it, which are those of the first output; 0 where an operand
// is the same for all lines.
struct LineOperand {
  void* data = nullptr;
  Tag type{};
  int64_t step = 0;
  int64_t axis_step[kMostAxes]{};
};

struct LineParams {
  LineOperand x[kMostLineInputs], y[kMostLineOutputs];
  int64_t lines = 0, size = 0, axes = 0;  // size: elements of a line
  int64_t axis_size[kMostAxes]{};
  int32_t outputs = 1;
  double eps = 0;
};

}  // namespace gpu
