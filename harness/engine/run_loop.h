// SPDX-License-Identifier: Apache-2.0
// The engine of a run: cases, devices and a policy become records, written one at a time. It takes the steps of the
// schedule: the cases of a step of the first pass are judged on all devices at once, and then timed one after the
// other. The inputs and golden values of the next step are prepared while devices run the present one, where the host
// has memory for both, but never while anything is timed.
#pragma once

#include <string>
#include <vector>

#include "harness/engine/results/run_folder.h"
#include "harness/engine/schedule.h"

namespace assay {

struct LoopResult {
  RecordList records;
  std::vector<Offer> offers;
  size_t forgotten = 0;  // results that RunPolicy::most_passes left out
  bool interrupted = false;
  bool stopped = false;     // by RunPolicy::most_failures, before all cases had run
  std::string write_error;  // why lines are missing from the files; "" when none is
  std::string
      lost;  // how a device was lost after its verdicts stood, in a further round or when it was closed; "": none
  bool abandoned = false;  // a thread still prepares a case that will not run: leave without destroying what it uses
};

// Ends early when the user interrupts or records cannot be written; the result holds what was found until then.
LoopResult RunCases(std::vector<PlannedCase> cases, const std::vector<Device>& devices, const RunPolicy& policy,
                    RunFolder& folder);

// Overload for cases that a source generates while the run lasts. Nothing is timed.
LoopResult RunCases(CaseSource& source, const std::vector<Device>& devices, const RunPolicy& policy, RunFolder& folder);

}  // namespace assay
