// SPDX-License-Identifier: Apache-2.0
// A command may replace the file that an option names for its result, but none that it reads.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "harness/base/result.h"
#include "harness/cli/options.h"

namespace assay::cli {

struct ReadFile {
  std::filesystem::path path;  // empty, or of a file that is not there: none
  std::string what;            // "the output", for the message
};

// Error: `written`, which `option` names, is one of the files that are read, by whatever name or link.
Status CheckReplacesNone(std::string_view option, const std::filesystem::path& written, std::span<const ReadFile> read);

// The file of --suite; without a path where no suite is read, or none of that name is found.
ReadFile SuiteFile(const CaseOptions& options);

}  // namespace assay::cli
