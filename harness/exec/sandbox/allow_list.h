// SPDX-License-Identifier: Apache-2.0
// Which files a worker may use. Landlock knows permissions only, no exceptions: what must stay hidden is left out by
// permitting the folders around it one by one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/exec/sandbox/landlock.h"

namespace assay {

// Entries right in the plugin's folder, or below one of its folders, that are looked through for earlier runs; of all
// of its folders together.
inline constexpr int kMostEntries = 20000, kMostEntriesInAll = 200000;

class AllowList {
 public:
  // Folders that nothing of what is granted shows, wherever they lie, but for names (Search); they need not exist yet.
  explicit AllowList(std::vector<std::string> hidden);

  void Read(const std::filesystem::path& path) { Grant(path, FileUse::kRead); }
  void ReadAndWrite(const std::filesystem::path& path) { Grant(path, FileUse::kWrite); }
  // To read and write it, as the user asked, but for the runs and bundles in it.
  void GrantOnRequest(const std::filesystem::path& path);
  // Whether it lies in what is hidden, or lies in a run, or is a bundle, so that granting it shows nothing; whether
  // something hidden lies in it.
  bool Hides(const std::filesystem::path& path) const;
  bool HidesPartOf(const std::filesystem::path& path) const;
  // To read it, and to list it even where something in it is hidden, of which only names show: whoever looks for a
  // module there, as Python's import does, lists the folder.
  void Search(const std::filesystem::path& folder);
  // The libraries, drivers' files and devices of the system, and what the process may know about itself. `self` is its
  // folder in /proc.
  void GrantSystem();
  // The plugin and the libraries that it links, and nothing else of its folder, where secrets and results may lie. A
  // file of kernels imports what lies beside it: its folder, unless that is one where all kinds of files lie.
  void GrantPlugin(const std::filesystem::path& plugin);
  // Grants the absolute paths in the variables of the worker's environment: drivers, layers and caches of the user.
  void GrantNamedBy(const std::vector<std::string>& variables);

  const std::vector<FileGrant>& all() const { return grants_; }

  // Says which folders beside a file of kernels stay hidden though its user may have meant them to be seen: earlier
  // runs, how many and one of them, and a folder with too much in it to look through. "" where there is none.
  std::string HiddenText() const;

 private:
  bool IsHidden(const std::filesystem::path& real) const;
  bool HoldsHidden(const std::filesystem::path& real) const;
  void Grant(const std::filesystem::path& path, FileUse use);
  // The libraries right in it, wherever they lie that links lead to.
  void GrantLibraries(const std::filesystem::path& folder);
  void GrantLinked(const std::filesystem::path& plugin);
  // The folder of a file of kernels, or of what it brings. Left out are earlier runs, which have the golden values of
  // what failed, bundles, folders with too much in them to look through for runs, and those that are no part of it.
  void GrantFolder(const std::filesystem::path& folder);
  // Hides runs and bundles below `folder`, which is named as seen from the one above `root`. False: it has more than
  // `most` entries, or cannot be read.
  bool HideRuns(const std::filesystem::path& folder, const std::filesystem::path& root, int most);
  void GrantAround(const std::filesystem::path& folder, FileUse use);
  // Hides earlier runs and bundles beside the plugin, as far as they are found, once `real` shows some of its folder.
  void HideBeside(const std::filesystem::path& real);
  std::vector<std::filesystem::path> hidden_;
  std::vector<std::filesystem::path> beside_;  // folders of a plugin that were not looked through for runs yet
  std::vector<std::filesystem::path> runs_,
      unsearched_;                              // that were found beside the plugin; runs_: as seen from there
  std::vector<std::filesystem::path> foreign_;  // folders there that are no part of a plugin: IsForeign()
  int entries_ = 0;                             // that were looked through
  std::vector<FileGrant> grants_;
};

}  // namespace assay
