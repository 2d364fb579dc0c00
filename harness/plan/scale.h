// SPDX-License-Identifier: Apache-2.0
// A suite with smaller extents: --scale 1/8 divides those that lines `scale KEYS` of the suite name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/model/case_spec.h"

namespace assay {

// How a suite was scaled, and what became of it.
struct SuiteScale {
  int64_t divisor = 1;
  size_t cases = 0, smaller = 0;  // cases that lines plan, and how many of them have smaller extents
  std::string example;            // "matmul/f32/m=1,n=64/... for matmul/f32/m=1,n=512/..." of the first one

  // "--scale 1/8: 4 of 5 cases are smaller, ..."
  std::string Text() const;
};

// "1/8" -> 8.
Result<int64_t> ParseScale(std::string_view text);

// The extent divided, at least 1, and rounded to a multiple of the largest power of two, up to 64, that divides the
// extent and is not above the quotient: 2880 / 8 = 384, 32 / 8 = 4, 12 / 8 = 2.
int64_t DivideExtent(int64_t extent, int64_t divisor);

// Divides the attributes that `keys` name: "n", or an entry of a list, "shape.0". Errors: a key that the operator has
// not, or that is none of extents. Keys that the case leaves at their default stay so.
Result<CaseSpec> ScaleCase(CaseSpec spec, const std::vector<std::string>& keys, int64_t divisor,
                           const OpSchema& schema);

}  // namespace assay
