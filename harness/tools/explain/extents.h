// SPDX-License-Identifier: Apache-2.0
// Extents of several axes together.
#pragma once

#include "harness/core/data/tensor.h"

namespace assay {

inline int64_t ExtentOver(const Shape& shape, size_t axis, int64_t axes) {
  int64_t extent = 1;
  for (size_t i = axis; i < axis + static_cast<size_t>(axes); ++i) extent *= shape[i];
  return extent;
}

inline int64_t ExtentFrom(const Shape& shape, size_t axis) {
  return ExtentOver(shape, axis, std::ssize(shape) - static_cast<int64_t>(axis));
}

}  // namespace assay
