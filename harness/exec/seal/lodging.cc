// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/seal/lodging.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "harness/base/cache_folder.h"
#include "harness/data/tensor.h"

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
  if (!path_.empty()) RemoveFolder(path_);
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

void RemoveFolder(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) return;
  const auto open = fs::perms::owner_all;
  fs::permissions(folder, open, fs::perm_options::add, error);
  for (fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_symlink(ignored) && it->is_directory(ignored)) {
      fs::permissions(it->path(), open, fs::perm_options::add, ignored);
    }
  }
  fs::remove_all(folder, error);
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
