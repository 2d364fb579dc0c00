// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/per_backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/core/base/text.h"

namespace assay {

Result<PerBackend> ParsePerBackend(const PerBackendOption& option, const std::vector<std::string>& texts) {
  PerBackend numbers;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    const size_t begin = equals == text.npos ? 0 : equals + 1;
    const auto number = ParseNumber<double>(std::string_view(text).substr(begin));
    if (!number || !(*number >= 0 && *number <= option.most) || equals == 0) {
      return UsageError(fmt::format("'{}' is not a {}; give one from 0 to {}, like {}", text, option.what, option.most,
                                    option.example));
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

std::string FindUnused(const PerBackendOption& option, const PerBackend& numbers,
                       const std::set<std::string>& backends) {
  std::vector<std::string> unused;
  for (const auto& [backend, number] : numbers) {
    if (!backend.empty() && !backends.contains(backend)) unused.push_back(backend);
  }
  if (unused.empty()) return "";
  return fmt::format("{}: unused for {}; the backends of this run are {}", option.name, fmt::join(unused, ", "),
                     fmt::join(backends, ", "));
}

}  // namespace assay
