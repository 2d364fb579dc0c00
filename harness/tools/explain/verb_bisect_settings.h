// SPDX-License-Identifier: Apache-2.0
// The lists of settings that `assay bisect` searches: values of a variable, versions of a package, revisions.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/engine/device/program_group.h"
#include "harness/plan/options.h"
#include "harness/tools/explain/bisection.h"

namespace assay::cli {

// A setting under which the case runs in processes of its own.
struct BisectSetting {
  std::string name;                         // "ONEDNN_MAX_CPU_ISA=AVX2", "numpy==1.26.4", "8d3c0f1a2b4c shorter sums"
  std::vector<std::string> variables = {};  // "NAME=value"
  std::vector<std::string> words = {};      // options of `assay run`
  std::string problem = {};                 // why it cannot be tried; "": it can
  std::string folder = {};                  // of its runs; "": its name
};

// Runs `words` for at most so long. The text has the program's error output, too.
LimitedOutput RunWithErrors(double limit_s, const std::vector<std::string>& words);

// The last line that is not empty.
std::string LastLine(const std::string& text);

// Runs the case twice, into folders below `out`. `words`: the options of `assay run` that all settings share.
SettingTrial TryCase(const BisectSetting& setting, const std::vector<std::string>& words,
                     const std::filesystem::path& out);

struct SettingsToTry {
  std::vector<BisectSetting> list;
  std::function<void(BisectSetting&)> prepare = {};  // called before a setting is tried; may be empty
};

// "NAME=a,b,c".
Result<SettingsToTry> ListVariableSettings(const std::string& env);

struct PackageSearch {
  std::string range;              // "jaxlib==0.4.30..0.4.35"
  std::filesystem::path folder;   // of the virtual environments, which are kept
  std::string python;             // makes them
  std::vector<std::string> with;  // further requirements of each
};

// The versions between two that pip offers, the oldest first. A version is installed when it is prepared, unless the
// folder has it already.
Result<SettingsToTry> ListPackageSettings(const PackageSearch& search);

// The commits that `assay bisect --git` searches, each checked out and built in a folder of its own.
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
