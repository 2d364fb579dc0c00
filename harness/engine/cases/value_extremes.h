// SPDX-License-Identifier: Apache-2.0
// NaN, infinities and the largest element of an output, of which a sample judges some elements alone.
#pragma once

#include <cstdint>

#include "harness/core/data/tensor.h"

namespace assay {

struct ValueExtremes {
  int64_t nonfinite = 0, first = -1, last = -1;  // of elements that are NaN or infinite
  int64_t largest = -1;                          // the finite element of the largest magnitude
  double magnitude = -1;

  void Join(const ValueExtremes& other);
};
ValueExtremes FindValueExtremes(const Tensor& tensor);

}  // namespace assay
