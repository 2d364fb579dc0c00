// SPDX-License-Identifier: Apache-2.0
// Parameters of a matmul kernel: y = alpha A B + beta c + bias, strides in elements.
#pragma once

#include <cstdint>

#include "backends/gpu/device/tags.h"

namespace gpu {

struct MatmulParams {
  const void *a = nullptr, *b = nullptr, *c = nullptr, *bias = nullptr;  // of the elements with all indices zero
  void *y = nullptr, *sums = nullptr;  // sums: partial ones [batch, part, m, n] in the accumulator's type
  Tag c_type{}, bias_type{}, y_type{};
  int32_t has_c = 0, has_bias = 0, rounded = 0, a_along_k = 0, b_along_k = 0;
  int64_t m = 0, n = 0, k = 0, batch = 1, parts = 1, part = 0;  // part: extent of k in one of them
  int64_t a_batch = 0, a_row = 0, a_column = 0, b_batch = 0, b_row = 0, b_column = 0;
  int64_t c_batch = 0, c_row = 0, c_column = 0, bias_column = 0, y_batch = 0, y_row = 0, y_column = 0;
  double alpha = 1, beta = 0;
};

}  // namespace gpu
