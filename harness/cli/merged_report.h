// SPDX-License-Identifier: Apache-2.0
// The tables of several shards on standard output, whether they were written to a folder or not.
#pragma once

#include <string>

#include "harness/engine/results/finished_run.h"

namespace assay::cli {

// `all_file`: where everything stands, "" where nothing was written. Returns the exit code of the verdicts.
int PrintMerged(const FinishedRun& run, const std::string& environment, const std::string& all_file,
                const std::string& color, bool strict);

}  // namespace assay::cli
