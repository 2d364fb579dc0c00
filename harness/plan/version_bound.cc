// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/version_bound.h"

#include <fmt/format.h>

#include "harness/core/base/text.h"

namespace assay {

std::vector<int64_t> VersionIn(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  std::vector<int64_t> numbers;
  size_t at = text.find_first_of(kDigits);
  while (at < text.size()) {
    const size_t end = std::min(text.find_first_not_of(kDigits, at), text.size());
    numbers.push_back(ParseNumber<int64_t>(text.substr(at, end - at)).value_or(0));
    const bool more =
        end + 1 < text.size() && text[end] == '.' && kDigits.find(text[end + 1]) != std::string_view::npos;
    if (!more) break;
    at = end + 1;
  }
  return numbers;
}

Result<VersionBound> ParseVersionBound(std::string_view word) {
  const auto parts = SplitAtComparison(word);
  const std::string_view version = parts ? parts->right : std::string_view();
  if (version.empty() || version.find_first_not_of("0123456789.") != std::string_view::npos) {
    return UsageError(fmt::format("'{}' is not a version bound; write library=2.6.3 or library<3.4", word));
  }
  return VersionBound{parts->comparison, VersionIn(version), std::string(word)};
}

bool Holds(const VersionBound& bound, std::string_view text) {
  std::vector<int64_t> version = VersionIn(text);
  if (version.empty()) return false;
  std::vector<int64_t> limit = bound.version;
  const bool equality = bound.comparison == Comparison::kEqual || bound.comparison == Comparison::kNotEqual;
  const size_t numbers = equality ? limit.size() : std::max(version.size(), limit.size());
  version.resize(numbers), limit.resize(numbers);
  return Compare(version < limit ? -1 : version == limit ? 0 : 1, bound.comparison, 0);
}

}  // namespace assay
