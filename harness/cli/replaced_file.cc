// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/replaced_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "harness/plan/catalog.h"
#include "harness/plan/find_suite.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

fs::path FolderOf(const fs::path& path) {
  return (fs::absolute(path) / "").lexically_normal().parent_path();
}

// "" where a new file can be made.
std::string ExplainNoNewFile(const WrittenFile& written) {
  const fs::path named = written.path.has_parent_path() ? written.path.parent_path() : ".";
  if (!written.folder_made.empty() && FolderOf(named) == FolderOf(written.folder_made)) return "";
  std::error_code error;
  if (!fs::is_directory(named, error)) return fmt::format("there is no folder {}; make it first", named.string());
  if (::access(named.c_str(), W_OK) == 0) return "";
  return fmt::format("the folder {} cannot be written: {}; give another one", named.string(), std::strerror(errno));
}

// "" where what is there may be replaced.
std::string ExplainNotReplaced(const WrittenFile& written) {
  const auto& [option, path, kind, folder_made] = written;
  const auto kept = [&](const std::string& what) {
    return what + ", so it is not replaced; give another name, or remove it";
  };
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return kept("this is a link to nothing");
  if (fs::is_directory(status)) return "this is a folder; give the name of a file";
  if (!fs::is_regular_file(status)) {
    return kind.streamed ? "" : kept("this is not a file");
  }
  if (fs::file_size(path, error) > 0 && !kind.is_one(path)) {
    return kept(fmt::format("this is not a {}", kind.what));
  }
  if (kind.streamed && ::access(path.c_str(), W_OK) != 0) {
    return fmt::format("the file cannot be written: {}; give another one", std::strerror(errno));
  }
  return kind.streamed ? "" : ExplainNoNewFile(written);  // which then takes its place
}

}  // namespace

Status CheckMayWrite(const WrittenFile& written, std::span<const ReadFile> read) {
  const fs::path& path = written.path;
  if (path.empty()) return {};
  std::error_code error;
  std::string why;
  for (const ReadFile& file : read) {
    if (fs::equivalent(path, file.path, error)) why = file.what + " is read from this file; give another one";
  }
  if (why.empty()) {
    const bool is_there = fs::exists(fs::symlink_status(path, error));
    why = is_there ? ExplainNotReplaced(written) : ExplainNoNewFile(written);
  }
  if (why.empty()) return {};
  return UsageError(fmt::format("{} {}: {}", written.option, path.string(), why));
}

bool FileBeginsWith(const fs::path& file, std::string_view text) {
  std::string beginning(text.size(), '\0');
  std::ifstream stream(file, std::ios::binary);
  return stream.read(beginning.data(), static_cast<std::streamsize>(beginning.size())) && beginning == text;
}

ResultKind NpyResult() {
  return {".npy file", [](const fs::path& file) { return FileBeginsWith(file, "\x93NUMPY"); }};
}

ReadFile SuiteFile(const PlanOptions& options) {
  const std::string name = SuiteName(options);
  const auto path = name.empty() ? Result<std::string>("") : FindSuite(name, SuiteDirectories());
  return {path.value_or(""), "the suite"};
}

}  // namespace assay::cli
