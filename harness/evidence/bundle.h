// SPDX-License-Identifier: Apache-2.0
// Everything of a run that somebody needs who has no such hardware: see harness/evidence/README.md for the files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/evidence/container.h"

namespace assay {

inline constexpr const char* kStatementFile = "statement.json";
inline constexpr const char* kWaiverFolder = "expectations/";

struct BundledRun {
  BundleFiles files;
  std::vector<std::string> notes;  // what somebody who verifies it will miss
};

// Errors: no run is there, it is one that has not ended, a list of expectations or a plugin was changed since the run.
Result<BundledRun> CollectBundle(const std::filesystem::path& run);

}  // namespace assay
