// SPDX-License-Identifier: Apache-2.0
// Where a worker lives: a folder of its own for temporary files, which is its current and its home folder too and ends
// with it, and one per plugin for what drivers compile, which stays.
#pragma once

#include <filesystem>
#include <string>

#include "harness/core/base/result.h"

namespace assay {

class WorkerFolder {
 public:
  WorkerFolder() = default;
  WorkerFolder(WorkerFolder&& other) noexcept;
  WorkerFolder& operator=(WorkerFolder&& other) noexcept;
  ~WorkerFolder();
  static Result<WorkerFolder> Create();
  const std::filesystem::path& path() const { return path_; }  // "": none

 private:
  std::filesystem::path path_;
};

// $XDG_CACHE_HOME/assay/workers/<plugin>-<hash of its path>, else below ~/.cache; created. "" where there is neither.
// Two plugins of one file name do not see what the other one keeps.
std::filesystem::path PluginCacheFolder(const std::filesystem::path& plugin);

// "cuda" of "lib/libassay_cuda.so": what stands for a plugin that cannot say its name.
std::string NameOfPluginFile(const std::filesystem::path& path);

// Removes what a stranger's program has left in a folder, however deep its folders lie in each other and whatever it
// forbade their owner.
//
// Removes the folder with all that is in it, and follows no link. Returns "" or why something is left. Precondition:
// whoever wrote there has ended.
[[nodiscard]] std::string RemoveFolder(const std::filesystem::path& folder);

}  // namespace assay
