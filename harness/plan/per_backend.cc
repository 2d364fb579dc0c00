// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/per_backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/core/base/text.h"

namespace assay {

namespace {

constexpr double kMost = 1e4;

}  // namespace

Result<PerBackend> ParsePerBackend(const std::vector<std::string>& texts) {
  PerBackend numbers;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    const size_t begin = equals == text.npos ? 0 : equals + 1;
    const auto number = ParseNumber<double>(std::string_view(text).substr(begin));
    if (!number || !(*number >= 0 && *number <= kMost) || equals == 0) {
      return UsageError(fmt::format("'{}' is not a number of microseconds; give one from 0 to {}, like 200 or cuda=200",
                                    text, kMost));
    }
    numbers[begin == 0 ? "" : text.substr(0, equals)] = *number;
  }
  return numbers;
}

std::optional<double> ForBackend(const PerBackend& numbers, const std::string& backend) {
  for (const std::string& name : {backend, std::string()}) {
    if (const auto found = numbers.find(name); found != numbers.end()) return found->second;
  }
  return std::nullopt;
}

std::vector<std::string> KeepUsed(std::vector<std::string> texts, const std::set<std::string>& backends) {
  std::erase_if(texts, [&](const std::string& text) {
    const size_t equals = text.rfind('=');
    return equals != text.npos && !backends.contains(text.substr(0, equals));
  });
  return texts;
}

std::string FindUnused(const PerBackend& numbers, const std::set<std::string>& backends) {
  std::vector<std::string> unused;
  for (const auto& [backend, number] : numbers) {
    if (!backend.empty() && !backends.contains(backend)) unused.push_back(backend);
  }
  if (unused.empty()) return "";
  return fmt::format("--launch-us: unused for {}; the backends of this run are {}", fmt::join(unused, ", "),
                     fmt::join(backends, ", "));
}

}  // namespace assay
