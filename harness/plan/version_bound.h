// SPDX-License-Identifier: Apache-2.0
// Bounds on the version of a library or driver: library=2.6.3, library<3.4, driver>=22.3.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/plan/attr_condition.h"

namespace assay {

struct VersionBound {
  Comparison comparison = Comparison::kEqual;
  std::vector<int64_t> version;  // {2, 6, 3}
  std::string text;              // "library<3.4", as it was written
};

// The first numbers joined by dots: {22, 3, 6} of "llvmpipe Mesa 22.3.6 (LLVM 15)". Empty where there are none.
std::vector<int64_t> VersionIn(std::string_view text);

Result<VersionBound> ParseVersionBound(std::string_view word);

// Missing numbers are zeros, but for = and !=, which compare as many as were written: =2.6 holds for 2.6.3. False for a
// text without a version.
bool Holds(const VersionBound& bound, std::string_view text);

}  // namespace assay
