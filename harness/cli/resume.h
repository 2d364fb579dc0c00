// SPDX-License-Identifier: Apache-2.0
// assay run --resume: a run that was killed, interrupted or without room goes on in its folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/cli/option_table.h"
#include "harness/core/base/json.h"
#include "harness/core/base/result.h"
#include "harness/engine/prepared_run.h"
#include "harness/engine/results/resumed_run.h"
#include "harness/engine/results/run_folder.h"

namespace assay::cli {

// Key of environment.json: the options that results depend on (Effect), with which alone a run is continued.
inline constexpr const char* kAsked = "asked";

struct Resumption {
  RunFolder folder;
  std::shared_ptr<ResumedRun> run;
};

// Opens the folder again, and adds to `environment`, the one of now, what the folder knew of earlier parts of the run.
// Errors: there is no such run, it is another one, or results would not be comparable: driver, plugin, tool or options
// are others than before, unless the user allows that.
Result<Resumption> Resume(const RunOptions& options, const PreparedRun& prepared, Json& environment);

}  // namespace assay::cli
