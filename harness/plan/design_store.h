// SPDX-License-Identifier: Apache-2.0
// Cache of covering designs between runs: a file with the ids of the cases for each design, in a folder of the user's.
// A design takes seconds, and every run of a suite with `cover` lines needs it. It depends only on the program, the
// operator and the options, which the file states. A file that states others, or is damaged, is computed anew and
// replaced. Any number of processes may share a folder.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/base/build_id.h"
#include "harness/plan/cover/cover.h"

namespace assay {

class DesignStore {
 public:
  // Keeps nothing if `root` is empty or the program's build is unknown.
  explicit DesignStore(std::filesystem::path root, std::string program = OwnBuildId())
      : root_(std::move(root)), program_(std::move(program)) {}
  // Sets a function that is called before each search, from any thread.
  void BeforeSearch(std::function<void()> call) { before_search_ = std::move(call); }
  // $XDG_CACHE_HOME/assay/designs, else ~/.cache/assay/designs.
  static std::filesystem::path DefaultRoot();

  // Returns Cover::cases from the cache. Computes and stores them if they are missing and the folder is writable.
  std::vector<CaseSpec> CasesOf(const Operator& op, const CoverOptions& options) const;
  std::filesystem::path PathOf(const Operator& op, const CoverOptions& options) const;

 private:
  std::optional<std::vector<CaseSpec>> Load(const Operator& op, const CoverOptions& options) const;
  void Save(const Operator& op, const CoverOptions& options, const std::vector<CaseSpec>& cases) const;
  std::string KeyOf(const Operator& op, const CoverOptions& options) const;

  std::filesystem::path root_;
  std::string program_;
  std::function<void()> before_search_;
};

}  // namespace assay
