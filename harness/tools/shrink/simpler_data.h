// SPDX-License-Identifier: Apache-2.0
// Data with as many zeros and ones as can be that still do what some data do.
#pragma once

#include <functional>
#include <vector>

#include "harness/core/data/tensor.h"

namespace assay {

// Replaces numbers, many at once where that goes, by 0, else by 1, else by the nearest integer or power of two, as long
// as `does_it` holds. It is asked no more when `is_over`.
std::vector<Tensor> SimplifyData(std::vector<Tensor> data,
                                 const std::function<bool(const std::vector<Tensor>&)>& does_it,
                                 const std::function<bool()>& is_over);

struct DataCounts {
  int64_t elements = 0, zeros = 0, ones = 0;
};
DataCounts CountData(const std::vector<Tensor>& data);

}  // namespace assay
