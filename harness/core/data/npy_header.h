// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file: a Python dict literal with exactly the keys 'descr', 'fortran_order' and 'shape'.
#pragma once

#include <string>
#include <string_view>

#include "harness/core/base/result.h"
#include "harness/core/data/tensor.h"

namespace assay {

struct NpyHeader {
  std::string descr;  // "<f4"
  bool fortran_order = false;
  Shape shape;  // at most kNpyMaxRank axes; the product of the extents above 0 fits 63 bits
};
inline constexpr size_t kNpyMaxRank = 64;

// Errors name the key and what was expected.
Result<NpyHeader> ParseNpyHeader(std::string_view text);
std::string NpyHeaderText(const NpyHeader& header);

}  // namespace assay
