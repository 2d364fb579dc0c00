// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/find_suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "harness/core/base/nearest_word.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

}  // namespace

Result<std::string> FindSuite(const std::string& name_or_path, const std::vector<std::string>& directories) {
  if (name_or_path.ends_with(".suite") || name_or_path.starts_with('/') || name_or_path.starts_with('.')) {
    std::error_code error;
    if (fs::is_regular_file(name_or_path, error)) return name_or_path;
    return UsageError(fmt::format("suite file {} not found", name_or_path));
  }
  for (const std::string& directory : directories) {
    std::error_code error;
    const fs::path path = fs::path(directory) / (name_or_path + ".suite");
    if (fs::is_regular_file(path, error)) return path.string();
  }
  if (directories.empty()) {
    return UsageError(fmt::format("there is no suite '{}': this program finds no suites at all", name_or_path));
  }
  const std::vector<std::string> known = ListSuites(directories);
  return UsageError(
      fmt::format("there is no suite '{}'; known: {} (searched {}). Give a path that ends in .suite for "
                  "one of your own{}",
                  name_or_path, fmt::join(known, " "), fmt::join(directories, " "), DidYouMean(name_or_path, known)));
}

bool IsConformance(std::string_view name_or_path) {
  return fs::path(name_or_path).stem() == "conformance";
}

std::vector<std::string> ListSuites(const std::vector<std::string>& directories) {
  std::vector<std::string> names;
  for (const std::string& directory : directories) {
    std::error_code error;
    for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
      if (it->path().extension() != ".suite") continue;
      names.push_back(it->path().lexically_relative(directory).replace_extension().string());
    }
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

}  // namespace assay
