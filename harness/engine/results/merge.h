// SPDX-License-Identifier: Apache-2.0
// The shards of one run, put together as if it had been one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/engine/results/finished_run.h"
#include "harness/engine/results/missing.h"
#include "harness/plan/plan.h"

namespace assay {

struct MergedRun {
  Plan plan;           // of all shards; its devices say of which each was
  RecordList records;  // in the plan's order
  std::vector<Offer> offers;
  std::string environment;                                        // of the first part, with "merged" for all of them
  bool strict = false, interrupted = false, device_lost = false;  // any part was
  std::vector<std::string> notes;  // shards that are not there, what parts have in different versions
};

// Errors name the file, or the two folders that do not belong together, and what differs: cases and requirements,
// versions of the tool, of inputs and of golden values, the number of shards, lists of known failures; and overlaps.
Result<MergedRun> MergeRuns(const std::vector<std::filesystem::path>& dirs);

// With a record for each planned one that is missing.
FinishedRun Finish(MergedRun merged);

}  // namespace assay
