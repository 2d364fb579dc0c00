// SPDX-License-Identifier: Apache-2.0
// The lists of settings that `assay bisect` searches: values of a variable, versions of a package.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/tools/explain/verb_setting_run.h"

namespace assay::cli {

struct SettingsToTry {
  std::vector<CaseSetting> list;
  std::function<void(CaseSetting&)> prepare = {};  // called before a setting is tried; may be empty
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

}  // namespace assay::cli
