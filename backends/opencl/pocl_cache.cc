// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/pocl_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace opencl {
namespace {

namespace fs = std::filesystem;

// Finds the folder as pocl_cache_init_topdir (lib/CL/pocl_cache.c) does.
fs::path CacheFolder() {
  if (const char* folder = std::getenv("POCL_CACHE_DIR"); folder != nullptr) return folder;
  const char *xdg = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  const fs::path caches = xdg != nullptr ? fs::path(xdg) : home != nullptr ? fs::path(home) / ".cache" : "/tmp";
  return caches / "pocl/kcache";
}

// "" where a file can be created and filled.
std::string WhyNotWritable(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return error.message();
  std::string file = folder / "assay-XXXXXX";
  const int fd = ::mkstemp(file.data());
  if (fd < 0) return std::strerror(errno);
  const bool written = ::write(fd, "", 1) == 1;
  const std::string why = written ? "" : std::strerror(errno);
  ::close(fd);
  ::unlink(file.c_str());
  return why;
}

}  // namespace

std::string PoclCacheProblem() {
  const fs::path folder = CacheFolder();
  const std::string why = WhyNotWritable(folder);
  if (why.empty()) return "";
  return fmt::format(
      "its cache folder {} cannot be written ({}): set POCL_CACHE_DIR or XDG_CACHE_HOME to a folder that can",
      folder.string(), why);
}

}  // namespace opencl
