// SPDX-License-Identifier: Apache-2.0
#include "harness/base/whole_file.h"

#include <fmt/format.h>

#include <fstream>

namespace assay {

Result<std::string> ReadWholeFile(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& why) {
    return Fail(ErrorCode::kIo, fmt::format("{}: {}", path.string(), why));
  };
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) return fail(error.message());
  std::ifstream stream(path, std::ios::binary);
  std::string bytes(size, '\0');
  if (!stream.read(bytes.data(), static_cast<std::streamsize>(size))) return fail("cannot be read");
  return bytes;
}

}  // namespace assay
