// SPDX-License-Identifier: Apache-2.0
// Parameters of kernels that find each element by its index along every axis of its operand.
#pragma once

#include "backends/gpu/device/integers.h"
#include "backends/gpu/device/tags.h"

namespace gpu {

inline constexpr int kMostOperandInputs = 6, kMostOperandOutputs = 2, kMostOperandAxes = 4, kMostSizes = 8;
inline constexpr int kItemThreads = 256;        // of a block whose threads have an item each
inline constexpr int kStateThreads = 32;        // of a block that scans the states of a channel
inline constexpr int64_t kStatesOfAThread = 8;  // at most

enum class OperandKernel : int32_t {
  kRope,
  kQuantize,
  kDequantize,
  kRequantize,
  kGroupedGemm,
  kScaledMm,
  kCumSum,
  kCumProd,
  kTopK,
  kSelectiveScan,
  kPagedDecode,
  kRowLoss,
  kSumOfLosses
};

// Strides in elements, one for each axis; 0 where all indices along it share an element.
struct StridedOperand {
  void* data = nullptr;
  Tag type{};
  int64_t step[kMostOperandAxes]{};
};

struct OperandParams {
  StridedOperand x[kMostOperandInputs], y[kMostOperandOutputs];
  int64_t size[kMostSizes]{};  // the extents that a kernel names
  int64_t items = 0;           // threads or blocks that have something to do
  void* workspace = nullptr;   // in the accumulator's type
  int32_t inputs = 0;
  int32_t option = 0;  // a flag of the operator, which its kernel explains
  int64_t integer = 0;
  double low = 0, high = 0, factor = 0;
};

}  // namespace gpu
