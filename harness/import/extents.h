// SPDX-License-Identifier: Apache-2.0
// Numbers and shapes that files of others state: every one within limits, so that what is made of them can be too
// large for a machine, but not for an integer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "harness/base/result.h"
#include "harness/data/tensor.h"

namespace assay {

inline constexpr int64_t kLargestExtent = int64_t{1} << 31;

// "16x2x3". Errors: no such list, an extent of 0 or above kLargestExtent, more than 8 axes.
Result<Shape> ParseExtents(std::string_view text, char separator = 'x');

// The same of one.
Result<int64_t> ParseExtent(std::string_view text);

// Error: above 2^48.
Result<int64_t> ElementsOf(std::span<const int64_t> extents);

// "2x3x4", as suites have it.
std::string DimsText(std::span<const int64_t> extents);

}  // namespace assay
