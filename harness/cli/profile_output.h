// SPDX-License-Identifier: Apache-2.0
// --profile and --trace of a run.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "harness/core/base/profile.h"
#include "harness/core/base/result.h"
#include "harness/engine/prepared_run.h"

namespace assay::cli {

inline constexpr const char* kProfileFile = "profile.json";

struct ProfileRequest {
  bool table = false;
  std::optional<std::filesystem::path> trace;
  std::filesystem::path folder;  // of the run, if the user names it: it may be made later
};

class ProfileOutput {
 public:
  // Starts to collect what is asked for, if anything. Errors: the trace's file cannot be written, or `run` reads it.
  static Result<ProfileOutput> Start(const ProfileRequest& request, const RunRequest& run);

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
