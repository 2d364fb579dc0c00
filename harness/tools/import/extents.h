// SPDX-License-Identifier: Apache-2.0
// Numbers and shapes that files of others state: every one within limits, so that what is made of them can be too
// large for a machine, but not for an integer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "harness/core/base/result.h"
#include "harness/core/data/tensor.h"
#include "harness/core/model/case_spec.h"

namespace assay {

inline constexpr int64_t kLargestExtent = int64_t{1} << 31;

// Reasons that many have.
inline constexpr const char* kNoForm = "it is not of the form that these descriptions have";
inline constexpr const char* kNoExtent = "an extent is not from 1 to 2^31";

// A type by the name that the other project has for it.
using ForeignType = std::pair<std::string_view, DType>;
Result<DType> FindType(std::span<const ForeignType> types, std::string_view name);

// "16x2x3". Errors: no such list, an extent of 0 or above kLargestExtent, more than 8 axes.
Result<Shape> ParseExtents(std::string_view text, char separator = 'x');

// Parses a single extent, with the same errors.
Result<int64_t> ParseExtent(std::string_view text);

// Error: above 2^48.
Result<int64_t> ElementsOf(std::span<const int64_t> extents);

// "rows" and "n": all axes but the last are rows. Precondition: there is one.
Result<AttrList> RowsOf(const Shape& shape);

// "2x3x4", as suites have it.
std::string DimsText(std::span<const int64_t> extents);

}  // namespace assay
