// SPDX-License-Identifier: Apache-2.0
// All cases of a measurement, handed to threads that have a worker each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/plan/options.h"
#include "harness/plan/suite.h"
#include "harness/tools/power/power_case.h"

namespace assay {

struct PowerWorkers {
  std::string corpus;  // path of the plugin
  double timeout_s = 60;
  SandboxOptions sandbox;
  int count = 1;
};

struct MeasuredPower {
  PowerTally tally;
  size_t complete = 0;  // cases that were measured to the end
};

// Called after each case, one call at a time: how many are done, the false alarms in them, the id of the last.
using PowerProgress = std::function<void(size_t done, size_t alarms, const std::string& current)>;

// A corpus that cannot be opened is one of PowerTally::could_not_run. Leaves the host's thread pool with one thread.
MeasuredPower MeasureCases(const std::vector<PlannedCase>& cases, const PowerWorkers& workers,
                           const PowerSettings& settings, const PowerProgress& progress);

// A random part of a suite's cases, where all of them would take hours.
//
// `size` of the cases, of each operator in proportion and at least one, so that shares of the sample estimate those of
// the whole. Which ones follows from their ids and `seed` alone: the same on every machine, and a smaller sample is
// part of a larger one. In the order of `cases`; all of them where there are no more.
std::vector<PlannedCase> SampleCases(std::vector<PlannedCase> cases, size_t size, uint64_t seed);

// Keeps cases of at most `most_flops` operations: the layers of public models among a suite's cases take as long as all
// others. Cases of a million operations take a second each, as every schedule is executed on every seed.
std::vector<PlannedCase> KeepCasesUpTo(std::vector<PlannedCase> cases, double most_flops);

}  // namespace assay
