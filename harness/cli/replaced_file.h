// SPDX-License-Identifier: Apache-2.0
// Protects files from being overwritten. The file that an option names for a result may be new, empty or an older
// result of the same kind, but none that the command reads. This is checked before anything is computed.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "harness/cli/options.h"
#include "harness/core/base/result.h"

namespace assay::cli {

struct ReadFile {
  std::filesystem::path path;  // empty or missing: no file
  std::string what;            // "the output", for the message
};

// Kind of result that an option writes.
struct ResultKind {
  const char* what;                                   // "trace", for the message
  bool (*is_one)(const std::filesystem::path& file);  // whether a file that is there and not empty is an older one
  bool streamed = false;                              // written piece by piece, and so into a pipe or a device too
};

struct WrittenFile {
  std::string_view option;  // option that names the file: "--trace"
  std::filesystem::path path;
  ResultKind kind;
  std::filesystem::path folder_made = {};  // a folder that the command makes before it writes; "": none
};

// Errors say which file stays, and why. Nothing is touched.
Status CheckMayWrite(const WrittenFile& written, std::span<const ReadFile> read);

// For ResultKind::is_one.
bool FileBeginsWith(const std::filesystem::path& file, std::string_view text);
ResultKind NpyResult();

// The file of --suite; without a path where no suite is read, or none of that name is found.
ReadFile SuiteFile(const PlanOptions& options);

}  // namespace assay::cli
