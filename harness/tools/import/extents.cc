// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/extents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/core/base/text.h"

namespace assay {

Result<DType> FindType(std::span<const ForeignType> types, std::string_view name) {
  constexpr size_t kMostName = 40;
  const auto at = std::ranges::find(types, name, &ForeignType::first);
  if (at != types.end()) return at->second;
  return UsageError(fmt::format("no type {} here", name.substr(0, kMostName)));
}

Result<int64_t> ParseExtent(std::string_view text) {
  const auto value = ParseNumber<int64_t>(text);
  if (!value) return UsageError(kNoForm);
  if (*value < 1 || *value > kLargestExtent) return UsageError(kNoExtent);
  return *value;
}

Result<Shape> ParseExtents(std::string_view text, char separator) {
  constexpr size_t kAxes = 8;
  Shape shape;
  for (const std::string_view part : Split(text, separator)) {
    const auto extent = ParseExtent(part);
    if (!extent) return tl::unexpected(extent.error());
    shape.push_back(*extent);
  }
  if (shape.size() > kAxes) return UsageError("there are more than 8 axes");
  return shape;
}

Result<int64_t> ElementsOf(std::span<const int64_t> extents) {
  constexpr int64_t kMost = int64_t{1} << 48;
  int64_t product = 1;
  for (const int64_t extent : extents) {
    if (extent < 1) return UsageError(kNoExtent);
    if (extent > kMost / product) return UsageError("there are more than 2^48 elements");
    product *= extent;
  }
  return product;
}

Result<AttrList> RowsOf(const Shape& shape) {
  const auto rows = ElementsOf(std::span(shape).first(shape.size() - 1));
  if (!rows) return tl::unexpected(rows.error());
  return AttrList{{"rows", std::to_string(*rows)}, {"n", std::to_string(shape.back())}};
}

std::string DimsText(std::span<const int64_t> extents) {
  return fmt::format("{}", fmt::join(extents, "x"));
}

}  // namespace assay
