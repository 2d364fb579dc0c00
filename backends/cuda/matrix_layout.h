// SPDX-License-Identifier: Apache-2.0
// A row-major operand as a library of column-major matrices sees it.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/common/matmul_spec.h"

namespace cuda_backend {

// View of a row-major matrix's memory by columns: [columns, rows] as it lies, or [rows, columns] if `transposed`.
struct ColumnMajor {
  bool transposed = false;
  int64_t rows = 0, columns = 0, leading = 0;
};

// Nothing when neither direction of the operand is contiguous, or its lines overlap.
std::optional<ColumnMajor> AsColumnMajor(const plugin::Matrix& matrix, int64_t rows, int64_t columns);

// The largest power of two up to 256 that divides an address.
uint32_t AlignmentOf(const void* address);

}  // namespace cuda_backend
