// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/scale.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/core/base/amounts.h"
#include "harness/core/base/text.h"

namespace assay {
namespace {

constexpr int64_t kMostDivided = 1024;
constexpr int64_t kWidestMultiple = 64;  // blocks of quantised formats and tiles of kernels divide by it

// Divides one number of the text, or all where `entry` is negative.
Result<std::string> DivideNumbers(const std::string& key, const std::string& text, int entry, int64_t divisor) {
  std::vector<std::string> numbers;
  for (const std::string_view part : Split(text, 'x')) {
    const auto number = ParseNumber<int64_t>(part);
    if (!number) return UsageError(fmt::format("scale {0}: {0}={1} is no extent", key, text));
    const bool is_meant = entry < 0 || entry == std::ssize(numbers);
    numbers.push_back(std::to_string(is_meant ? DivideExtent(*number, divisor) : *number));
  }
  if (entry < std::ssize(numbers)) return fmt::format("{}", fmt::join(numbers, "x"));
  return UsageError(fmt::format("scale {}.{}: {} has {}", key, entry, text, Counted(std::ssize(numbers), "number")));
}

}  // namespace

std::string SuiteScale::Text() const {
  return fmt::format("--scale 1/{}: {} of {} smaller, such as {}. Its lines `scale` name the extents that are divided",
                     divisor, smaller, cases == 1 ? "1 case is" : fmt::format("{} cases are", cases), example);
}

Result<int64_t> ParseScale(std::string_view text) {
  if (text == "1") return 1;
  const auto divisor = text.starts_with("1/") ? ParseNumber<int64_t>(text.substr(2)) : std::nullopt;
  if (divisor && *divisor >= 1 && *divisor <= kMostDivided) return *divisor;
  return UsageError(
      fmt::format("'{}' is no scale; give 1/2, 1/8 or another 1/N with N up to {}, or 1", text, kMostDivided));
}

int64_t DivideExtent(int64_t extent, int64_t divisor) {
  if (extent <= 0) return extent;  // a key without a positive extent, such as an axis of -1
  int64_t step = 1;
  while (step < kWidestMultiple && extent % (2 * step) == 0 && 2 * step * divisor <= extent) step *= 2;
  const int64_t part = step * divisor;
  return std::max<int64_t>(1, (extent + part / 2) / part) * step;
}

Result<CaseSpec> ScaleCase(CaseSpec spec, const std::vector<std::string>& keys, int64_t divisor,
                           const OpSchema& schema) {
  for (const std::string& key : keys) {
    const size_t dot = key.find('.');
    const std::string name = key.substr(0, dot);
    const auto entry = dot == key.npos ? std::optional(-1) : ParseNumber<int>(key.substr(dot + 1));
    const AttrDef* const def = schema.Find(name);
    const bool counts = def != nullptr && (def->type == AttrType::kInt || def->type == AttrType::kDims);
    if (!counts || !entry || (dot != key.npos && *entry < 0)) {
      return UsageError(
          fmt::format("scale {}: {} has no extent of that name; name keys, or entries as in shape.0", key, schema.op));
    }
    const auto attr = std::ranges::find(spec.attrs, name, &std::pair<std::string, std::string>::first);
    if (attr == spec.attrs.end()) continue;
    auto divided = DivideNumbers(name, attr->second, *entry, divisor);
    if (!divided) return tl::unexpected(divided.error());
    attr->second = *std::move(divided);
  }
  return Canonicalise(std::move(spec), schema);
}

}  // namespace assay
