// SPDX-License-Identifier: Apache-2.0
// From the arrays of a caller to tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/c_api/assay/assay.h"
#include "harness/tools/check/tensor_set.h"

namespace assay::c_api {

// The arrays of one side, checked but not read.
struct GivenArrays {
  std::vector<assay_array> arrays;
  std::vector<std::string> names;  // of each, the operator's next for those without
};
Result<GivenArrays> TakeArrays(const OpSchema& schema, const assay_array* const* arrays, uint64_t count,
                               bool are_outputs);

// Dense tensors: copies, or where they may borrow, and elements lie as in a tensor, the arrays themselves. Errors say
// which array is wrong, and how.
Result<std::vector<NamedTensor>> ReadArrays(const GivenArrays& given, bool may_borrow);

// A view of a tensor for the caller, without data where `data` is null; `name` and `shape` outlive it. Writes what the
// caller's struct has.
Status ShowArray(const std::string& name, DType dtype, const Shape& shape, const void* data, assay_array* array);

}  // namespace assay::c_api
