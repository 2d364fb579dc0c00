// SPDX-License-Identifier: Apache-2.0
// Everything of a run that somebody needs who has no such hardware: see harness/tools/bundle/README.md for the files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/tools/bundle/container.h"

namespace assay {

inline constexpr const char* kStatementFile = "statement.json";
inline constexpr const char* kWaiverFolder = "expectations/";
// The format that statement.json states. Format 1 had a sample of cases that was drawn before the run; in format 2 the
// terms of the draw were not part of the hash of the run's files.
inline constexpr int kBundleFormat = 4;

struct BundledRun {
  BundleFiles files;
  std::vector<std::string> notes;  // what somebody who verifies it will miss
};

// The name of a list of known failures in a bundle: the n-th that environment.json names.
std::string WaiverFile(size_t number, const std::filesystem::path& list);

// CommittedHash() of a run's folder, as its bundle will have it.
std::string HashOfRunFiles(const std::filesystem::path& run);

// Draws the sample. `challenge`: what whoever gets the bundle has stated since the hash of the run's files was handed
// in. Errors: no run is there, it is one that has not ended, a list of expectations or a plugin was changed since the
// run.
Result<BundledRun> CollectBundle(const std::filesystem::path& run, const std::string& challenge);

}  // namespace assay
