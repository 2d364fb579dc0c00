// SPDX-License-Identifier: Apache-2.0
// The commits that `assay bisect --git` searches, each checked out and built in a folder of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/plan/options.h"
#include "harness/tools/explain/verb_bisect_settings.h"

namespace assay::cli {

struct RevisionSearch {
  std::filesystem::path repository;
  std::string good, bad;           // revisions; the first is an ancestor of the second
  std::string build;               // for a shell, in each checkout; "": nothing has to be built
  std::filesystem::path folder;    // of the checkouts, which are kept
  std::vector<std::string> files;  // "--plugin", "[name=]PATH": of each checkout
};

// Moves the plugins and files of kernels whose paths are relative, and so of each checkout, out of the options of runs.
std::vector<std::string> TakeCheckoutFiles(BackendOptions& backend);

// The commits from `good` to `bad`, the oldest first; of a merge the first parents. A commit is checked out and built
// when it is prepared, unless the folder has it already. The repository itself stays as it is.
Result<SettingsToTry> ListRevisionSettings(const RevisionSearch& search);

}  // namespace assay::cli
