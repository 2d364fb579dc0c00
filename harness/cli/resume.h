// SPDX-License-Identifier: Apache-2.0
// assay run --resume: a run that was killed, interrupted or without room goes on in its folder.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/core/base/result.h"
#include "harness/engine/prepared_run.h"
#include "harness/engine/results/resumed_run.h"
#include "harness/engine/results/run_folder.h"
#include "harness/engine/schedule.h"

namespace assay::cli {

// Key of environment.json: FolderRequest::asked.
inline constexpr const char* kAsked = "asked";

// Where the run is written.
struct FolderRequest {
  std::optional<std::filesystem::path> path;  // without: out/<time> below the current directory
  bool resume = false;                        // the run in it goes on
  bool allow_changed = false;                 // also where the environment is another one than before
  bool keeps_evidence = false;
  std::vector<std::string> asked;  // options that results depend on (Effect), with which alone a run is continued
};

struct Resumption {
  RunFolder folder;
  std::shared_ptr<ResumedRun> run;
};

// Opens the folder again, and adds to `environment`, the one of now, what the folder knew of earlier parts of the run.
// Errors: there is no such run, it is another one, or results would not be comparable: driver, plugin, tool or options
// are others than before, unless the user allows that.
Result<Resumption> Resume(const FolderRequest& request, const RunPolicy& policy, const PreparedRun& prepared,
                          Json& environment);

}  // namespace assay::cli
