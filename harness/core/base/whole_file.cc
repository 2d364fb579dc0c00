// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/whole_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace assay {

Result<std::string> ReadWholeFile(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& why) {
    return Fail(ErrorCode::kIo, fmt::format("{}: {}", path.string(), why));
  };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return fail(std::filesystem::is_directory(status)
                    ? "this is a folder; name a file"
                    : "this is a device or a pipe, which has no size; name a regular file");
  }
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) return fail(error.message());
  std::ifstream stream(path, std::ios::binary);
  std::string bytes(size, '\0');
  if (!stream) return fail(fmt::format("cannot be read: {}", std::strerror(errno)));
  if (!stream.read(bytes.data(), static_cast<std::streamsize>(size))) return fail("cannot be read to its end");
  return bytes;
}

Result<std::string> ReadStream(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& why) {
    return Fail(ErrorCode::kIo, fmt::format("{}: {}", path.string(), why));
  };
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return fail(std::strerror(errno));
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return fail(std::strerror(EISDIR));  // which can be opened
  std::ostringstream text;
  text << stream.rdbuf();
  if (text.bad()) return fail("cannot be read to its end");
  return std::move(text).str();
}

}  // namespace assay
