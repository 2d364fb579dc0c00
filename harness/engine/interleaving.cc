// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/interleaving.h"

#include "harness/engine/cases/host_memory.h"
#include "harness/engine/run_loop.h"
#include "harness/engine/trial/retries.h"

namespace assay {

std::string Interleaving::TurnOf(const Attempt& attempt) const {
  return settings_.all_in_turns ? "" : attempt.implementation;
}

bool Interleaving::CanHoldAll(const Problem& problem) const {
  return settings_.rounds > 1 && CountParallelDevices(problem, settings_.tier, devices_.size()) == devices_.size();
}

void Interleaving::Time(TrialRunner& runner, std::vector<TrialRunner::Timed>& group) {
  try {
    if (group.size() > 1) return runner.TimeInTurns(group);
    for (const TrialRunner::Timed& timed : group) runner.Time(*timed.device, *timed.attempt);
  } catch (const std::exception& fault) {
    for (const TrialRunner::Timed& timed : group) timed.attempt->SetFault(fault);
  }
}

void Interleaving::Retry(TrialRunner& runner, const Device& device, Attempt& attempt) const {
  if (settings_.runner.interrupted() || !IsRetried(device, attempt, settings_.retries)) return;
  // Nothing else lost it meanwhile.
  if (const auto& reset = settings_.retries.reset) {
    ResetDevice(settings_.retries, device, attempt, reset->Resets(device));
  }
  TryAgain(runner, device, attempt, settings_.retries, true);
}

}  // namespace assay
