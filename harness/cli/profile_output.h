// SPDX-License-Identifier: Apache-2.0
// --profile and --trace of a run.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/cli/options.h"
#include "harness/core/base/profile.h"
#include "harness/core/base/result.h"

namespace assay::cli {

inline constexpr const char* kProfileFile = "profile.json";

class ProfileOutput {
 public:
  // Starts to collect what the options ask for, if anything. Errors: the trace's file cannot be written.
  static Result<ProfileOutput> Start(const RunOptions& options);

  // profile.json of the folder, which reports show.
  Status WriteTotals(const std::filesystem::path& dir) const;

  // Rewrites profile.json with the time of the reports, prints the table to standard error, and writes the trace.
  Status Finish(const std::filesystem::path& dir);

 private:
  Status WriteTrace(const std::filesystem::path& dir, const std::vector<ThreadProfile>& threads) const;

  bool table_ = false;
  std::filesystem::path trace_path_;  // empty: none
  Nanoseconds begin_ = 0;
};

}  // namespace assay::cli
