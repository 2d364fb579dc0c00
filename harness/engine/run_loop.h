// SPDX-License-Identifier: Apache-2.0
// The engine of a run: cases, devices and a policy become records, written one at a time. A few cases together
// (CaseGroup) are judged on all devices at once, and then timed one after the other. The inputs and golden values of
// the next ones are prepared while devices run the present ones, where the host has memory for both, but never while
// anything is timed.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "harness/engine/observer.h"
#include "harness/engine/results/expected.h"
#include "harness/engine/results/resumed_run.h"
#include "harness/engine/results/run_folder.h"
#include "harness/engine/schedule.h"
#include "harness/engine/trial/retries.h"
#include "harness/engine/trial/trial_runner.h"

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

// How often the cases are judged.
struct Repetition {
  int64_t passes = 1;  // over all cases, with the first one, which always comes to its end
  double seconds = 0;  // of the run, after which no case of a further pass begins; 0: no such end
};

// How cases are run, whichever they are.
struct RunPolicy {
  RunnerSettings runner;
  std::string tier;
  int rounds = 1;  // of timing
  RetrySettings retries;
  Repetition repetition;
  bool all_in_turns = false;            // all results of a case are timed in turns, not only those of one name
  std::shared_ptr<ResumedRun> resumed;  // whose records are taken; null: the run begins
  size_t set_aside_after = 0;           // see DeviceHealth
  size_t most_failures = 0;             // beside those of a run that is continued, where this one stops; 0: none
  size_t devices_at_once = 1;           // most that are judged at a time, and workers that judge
  std::vector<Expectation> expectations;
  size_t most_passes = std::numeric_limits<size_t>::max();  // see ResultStore
  GoldenStore store{std::filesystem::path()};
  RunObserver* observer = nullptr;  // outlives the run
};

// Ends early when the user interrupts or records cannot be written; the result holds what was found until then.
LoopResult RunCases(std::vector<PlannedCase> cases, const std::vector<Device>& devices, const RunPolicy& policy,
                    RunFolder& folder);

// Overload for cases that a source generates while the run lasts. Nothing is timed.
LoopResult RunCases(CaseSource& source, const std::vector<Device>& devices, const RunPolicy& policy, RunFolder& folder);

}  // namespace assay
