// SPDX-License-Identifier: Apache-2.0
// Parameters of reduce and softmax kernels, with pure index arithmetic.
#pragma once

#include "backends/gpu/device/integers.h"
#include "backends/gpu/device/tags.h"

namespace gpu {

inline constexpr int kMostAxes = 8;
inline constexpr int kReduceThreads = 256;

enum class Fold : int32_t {
  kSum,
  kMean,
  kMax,
  kMin,
  kProd,
  kL2,
  kArgMax,
  kArgMin,
  kLogSumExp
};  // as plugin::ReduceKind

struct ReduceParams {
  const void* x = nullptr;
  void *y = nullptr, *sums = nullptr;  // sums[output, part] in the accumulator's type
  Tag y_type{};
  Fold fold{};
  int32_t skip_nan = 0, atomic = 0, kept_axes = 0, reduced_axes = 0;
  int64_t outputs = 0, count = 0, parts = 1, part = 0;  // part: elements of one of them
  int64_t kept_size[kMostAxes]{}, kept_in[kMostAxes]{}, kept_out[kMostAxes]{};
  int64_t reduced_size[kMostAxes]{}, reduced_in[kMostAxes]{};
};

struct SoftmaxParams {
  const void* x = nullptr;
  void* y = nullptr;
  int64_t rows = 0, size = 0, x_step = 0, y_step = 0, axes = 0;
  int64_t axis_size[kMostAxes]{}, axis_x[kMostAxes]{}, axis_y[kMostAxes]{};  // the other axes
  int32_t log = 0;
};

struct OffsetPair {
  int64_t in, out;
};

// Offsets of the element with row-major index `index` over axes of these sizes.
GPU_FN OffsetPair OffsetsOf(int64_t index, int64_t axes, const int64_t* size, const int64_t* in, const int64_t* out) {
  OffsetPair offsets{0, 0};
  for (int64_t axis = axes - 1; axis >= 0; --axis) {
    const int64_t next = index / size[axis], at = index - next * size[axis];
    offsets.in += at * in[axis], offsets.out += at * out[axis];
    index = next;
  }
  return offsets;
}

GPU_FN int64_t ReducedOffset(const ReduceParams& p, int64_t index) {
  if (p.reduced_axes == 1) return index * p.reduced_in[0];
  return OffsetsOf(index, p.reduced_axes, p.reduced_size, p.reduced_in, p.reduced_in).in;
}

}  // namespace gpu
