// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/matrix_layout.h"

#include <algorithm>

namespace cuda_backend {

std::optional<ColumnMajor> AsColumnMajor(const plugin::Matrix& matrix, int64_t rows, int64_t columns) {
  // A direction of extent 1 is contiguous whatever its stride is, and its stride says nothing about lines.
  if (matrix.column_stride == 1 || columns == 1) {
    const int64_t leading = rows == 1 ? columns : matrix.row_stride;
    if (leading >= columns) return ColumnMajor{false, columns, rows, leading};
  }
  if (matrix.row_stride == 1 || rows == 1) {
    const int64_t leading = columns == 1 ? rows : matrix.column_stride;
    if (leading >= rows) return ColumnMajor{true, rows, columns, leading};
  }
  return std::nullopt;
}

uint32_t AlignmentOf(const void* address) {
  const auto bits = reinterpret_cast<uintptr_t>(address);
  return bits == 0 ? 256u : static_cast<uint32_t>(std::min<uintptr_t>(256, bits & ~(bits - 1)));
}

}  // namespace cuda_backend
