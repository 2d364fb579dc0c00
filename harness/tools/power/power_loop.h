// SPDX-License-Identifier: Apache-2.0
// All cases of a measurement, handed to threads that have a worker each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/plan/options.h"
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

}  // namespace assay
