// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/cache_folder.h"

#include <cstdlib>

namespace assay {

std::filesystem::path UserCaches() {
  const auto read = [](const char* variable) {
    const char* value = std::getenv(variable);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  if (std::filesystem::path cache = read("XDG_CACHE_HOME"); cache.is_absolute()) return cache;
  const std::filesystem::path home = read("HOME");
  return home.empty() ? home : home / ".cache";
}

std::filesystem::path CacheFolder(std::string_view name) {
  const std::filesystem::path caches = UserCaches();
  return caches.empty() ? caches : caches / "assay" / name;
}

}  // namespace assay
