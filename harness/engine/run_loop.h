// SPDX-License-Identifier: Apache-2.0
// Runs the planned cases over the devices, writing one record at a time. A few cases together (CaseGroup) are judged on
// all devices at once, and then timed one after the other. The inputs and golden values of the next ones are prepared
// while devices run the present ones, where the host has memory for both, but never while anything is timed.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "harness/engine/case_source.h"
#include "harness/engine/observer.h"
#include "harness/engine/repetition.h"
#include "harness/engine/results/expected.h"
#include "harness/engine/results/resumed_run.h"
#include "harness/engine/results/run_folder.h"
#include "harness/engine/trial/retries.h"
#include "harness/engine/trial/trial_runner.h"

namespace assay {

struct LoopResult {
  RecordList records;
  std::vector<Offer> offers;
  size_t forgotten = 0;  // results that LoopSettings::most_passes left out
  bool interrupted = false;
  bool stopped = false;     // by LoopSettings::most_failures, before all cases had run
  std::string write_error;  // why lines are missing from the files; "" when none is
  std::string
      lost;  // how a device was lost after its verdicts stood, in a further round or when it was closed; "": none
  bool abandoned = false;  // a thread still prepares a case that will not run: leave without destroying what it uses
};

struct LoopSettings {
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
LoopResult RunCases(std::vector<PlannedCase> cases, const std::vector<Device>& devices, const LoopSettings& settings,
                    RunFolder& folder);

// Overload for cases that a source generates while the run lasts. Nothing is timed.
LoopResult RunCases(CaseSource& source, const std::vector<Device>& devices, const LoopSettings& settings,
                    RunFolder& folder);

}  // namespace assay
