// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/replaced_file.h"

#include <fmt/format.h>

#include "harness/plan/catalog.h"

namespace assay::cli {

Status CheckReplacesNone(std::string_view option, const std::filesystem::path& written,
                         std::span<const ReadFile> read) {
  for (const ReadFile& file : read) {
    std::error_code error;
    if (!std::filesystem::equivalent(written, file.path, error)) continue;
    return UsageError(
        fmt::format("{} {}: {} is read from this file; give another one", option, written.string(), file.what));
  }
  return {};
}

ReadFile SuiteFile(const CaseOptions& options) {
  const std::string name = SuiteName(options);
  const auto path = name.empty() ? Result<std::string>("") : FindSuite(name, SuiteDirectories());
  return {path.value_or(""), "the suite"};
}

}  // namespace assay::cli
