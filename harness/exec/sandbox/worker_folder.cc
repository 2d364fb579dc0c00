// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/sandbox/worker_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "harness/core/base/cache_folder.h"
#include "harness/core/data/tensor.h"

namespace assay {

namespace fs = std::filesystem;

WorkerFolder::WorkerFolder(WorkerFolder&& other) noexcept {
  *this = std::move(other);
}

WorkerFolder& WorkerFolder::operator=(WorkerFolder&& other) noexcept {
  path_.swap(other.path_);
  return *this;
}

WorkerFolder::~WorkerFolder() {
  if (path_.empty()) return;
  if (const std::string problem = RemoveFolder(path_); !problem.empty()) {
    std::fprintf(stderr, "assay: a plugin's temporary folder cannot be removed (%s); rm -r %s\n", problem.c_str(),
                 path_.c_str());
  }
}

Result<WorkerFolder> WorkerFolder::Create() {
  std::error_code error;
  std::string name = fs::temp_directory_path(error) / "assay-worker-XXXXXX";
  if (error || ::mkdtemp(name.data()) == nullptr) {
    return Fail(ErrorCode::kIo, fmt::format("cannot create a temporary folder for a worker ({}): {}; set TMPDIR", name,
                                            error ? error.message() : std::strerror(errno)));
  }
  WorkerFolder folder;
  folder.path_ = std::move(name);
  return folder;
}

fs::path PluginCacheFolder(const fs::path& plugin) {
  const fs::path caches = UserCaches();
  if (caches.empty()) return caches;
  std::error_code ignored;  // the driver that finds no folder says so better
  const fs::path file = fs::weakly_canonical(plugin, ignored);
  const fs::path folder =
      caches / "assay/workers" /
      fmt::format("{}-{:.8}", NameOfPluginFile(plugin), HashHex(HashBytes(file.c_str(), file.native().size())));
  fs::create_directories(folder, ignored);
  return folder;
}

std::string NameOfPluginFile(const fs::path& path) {
  std::string name = path.stem().string();
  for (const std::string_view prefix : {"lib", "assay_"}) {
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  }
  return name;
}

}  // namespace assay
