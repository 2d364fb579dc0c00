// SPDX-License-Identifier: Apache-2.0
// How large and how small the values of a tensor are, which decides how a product may be split.
#pragma once

#include <cstdint>

namespace assay {

// Largest finite magnitude, and the smallest that is not zero (infinity when all are zero).
struct ValueRange {
  double max_abs;
  double min_abs;
  bool all_finite;  // otherwise the other two mean nothing
};
ValueRange RangeOf(const double* values, int64_t n);

}  // namespace assay
