// SPDX-License-Identifier: Apache-2.0
// The runs of `assay compare` and `assay history`: folders of runs, or two builds of one backend in one run.
#pragma once

#include <filesystem>
#include <string>

#include "harness/core/base/result.h"
#include "reports/compare/compare_runs.h"

namespace assay::cli {

struct RunPair {
  RunToCompare base, now;
  std::string note;  // what a reader must know of how they were found; "": nothing
};

// The output folder of a run, or its results.jsonl. Says notes on standard error.
Result<RunToCompare> ReadRunToCompare(const std::filesystem::path& path);

// The output folders of two runs, or their results.jsonl.
Result<RunPair> ReadRuns(const std::filesystem::path& base, const std::filesystem::path& now);

// Reads two backends of one run that are builds of one plugin: `builds` is "BASE,NEW". Both get the name of the new
// one, so that their results match. Errors: no such backend, or their plugins call themselves differently.
Result<RunPair> ReadBuilds(const std::filesystem::path& run, const std::string& builds);

}  // namespace assay::cli
