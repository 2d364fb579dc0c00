// SPDX-License-Identifier: Apache-2.0
// The reports of a run: files of its folder, derived from its records and those that are missing, and the tables of
// several shards on standard output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/model/record_list.h"
#include "harness/engine/results/finished_run.h"

namespace assay::cli {

// Writes report.html, summary.md, junit.xml and benchmark.json into `dir`, with the environment of its
// environment.json and the profile of its profile.json when there are such. Returns their paths; an error names the
// file that could not be written.
Result<std::vector<std::filesystem::path>> WriteReports(const std::filesystem::path& dir, const RecordView& records);

// Prints the tables of several shards, whether they were written to a folder or not. `all_file`: where everything
// stands, "" where nothing was written. Returns the exit code of the verdicts.
int PrintMerged(const FinishedRun& run, const std::string& environment, const std::string& all_file,
                const std::string& color, bool strict);

}  // namespace assay::cli
