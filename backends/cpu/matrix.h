// SPDX-License-Identifier: Apache-2.0
// Whole operands of one or two axes, row-major, in the accumulator's type.
#pragma once

#include <vector>

#include "backends/common/host.h"
#include "backends/cpu/elements.h"

namespace cpu {

// Bytes from the first row to this one.
inline int64_t RowOffset(const plugin::Tensor& tensor, int64_t row) {
  return tensor.Rank() < 2 ? 0 : row * tensor.strides[0] * plugin::Bytes(tensor.dtype);
}

template <class Acc>
std::vector<Acc> LoadMatrix(const plugin::Tensor& tensor, const std::byte* from) {
  const int64_t n = tensor.shape.back(), rows = tensor.Rank() < 2 ? 1 : tensor.shape[0];
  std::vector<Acc> values(static_cast<size_t>(rows * n));
  for (int64_t row = 0; row < rows; ++row) {
    Load(tensor.dtype, from + RowOffset(tensor, row), tensor.strides.back(), n, values.data() + row * n);
  }
  return values;
}

template <class Acc>
void StoreMatrix(const plugin::Tensor& tensor, const std::vector<Acc>& values, std::byte* to) {
  const int64_t n = tensor.shape.back(), rows = tensor.Rank() < 2 ? 1 : tensor.shape[0];
  for (int64_t row = 0; row < rows; ++row) {
    Store(tensor.dtype, values.data() + row * n, n, to + RowOffset(tensor, row), tensor.strides.back());
  }
}

}  // namespace cpu
