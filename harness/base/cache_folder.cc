// SPDX-License-Identifier: Apache-2.0
#include "harness/base/cache_folder.h"

#include <cstdlib>

namespace assay {

std::filesystem::path CacheFolder(std::string_view name) {
  const auto is_set = [](const char* value) { return value != nullptr && *value != '\0'; };
  // The XDG Base Directory Specification has relative paths ignored.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); is_set(cache) && std::filesystem::path(cache).is_absolute()) {
    return std::filesystem::path(cache) / "assay" / name;
  }
  const char* home = std::getenv("HOME");
  return is_set(home) ? std::filesystem::path(home) / ".cache/assay" / name : std::filesystem::path();
}

}  // namespace assay
