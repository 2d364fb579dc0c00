// SPDX-License-Identifier: Apache-2.0
#include "harness/run/timing_turns.h"

#include "harness/cases/host_memory.h"
#include "harness/run/run_loop.h"
#include "harness/run/trial/retries.h"

namespace assay {

std::string TimingTurns::TurnOf(const Attempt& attempt) const {
  return settings_.all_in_turns ? "" : attempt.implementation;
}

bool TimingTurns::Hold(const Problem& problem) const {
  return settings_.rounds > 1 && DevicesAtOnce(problem, settings_.tier, devices_.size()) == devices_.size();
}

void TimingTurns::Time(CaseRunner& runner, std::vector<CaseRunner::Timed>& group) {
  try {
    if (group.size() > 1) return runner.TimeInTurns(group);
    for (const CaseRunner::Timed& timed : group) runner.Time(*timed.device, *timed.attempt);
  } catch (const std::exception& fault) {
    for (const CaseRunner::Timed& timed : group) timed.attempt->SetFault(fault);
  }
}

void TimingTurns::Retry(CaseRunner& runner, const Device& device, Attempt& attempt) const {
  if (settings_.runner.interrupted() || !IsRetried(device, attempt, settings_.retries)) return;
  // Nothing else lost it meanwhile.
  if (const auto& reset = settings_.retries.reset) BringBack(settings_.retries, device, attempt, reset->Resets(device));
  TryAgain(runner, device, attempt, settings_.retries, true);
}

}  // namespace assay
