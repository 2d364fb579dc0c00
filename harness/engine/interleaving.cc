// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/interleaving.h"

#include <algorithm>
#include <map>

#include "harness/engine/cases/host_memory.h"
#include "harness/engine/trial/retries.h"

namespace assay {

void Interleaving::TimeAll(TrialRunner& runner, std::vector<PlacedAttempt>& results,
                           const std::function<void(PlacedAttempt&)>& done) const {
  std::ranges::shuffle(results, random_);
  std::map<std::string, uint64_t> order;
  for (const PlacedAttempt& result : results) order.try_emplace(TurnOf(result), random_());
  std::ranges::stable_sort(results, {}, [&](const PlacedAttempt& result) { return order.at(TurnOf(result)); });
  while (!results.empty() && is_quiet_()) {
    size_t begin = results.size() - 1;
    const bool in_turns = CanHoldAll(runner.context().problem());
    while (in_turns && begin > 0 && TurnOf(results[begin - 1]) == TurnOf(results.back())) --begin;
    Time(runner, std::span(results).subspan(begin));
    while (results.size() > begin) {
      Retry(runner, results.back());
      done(results.back());
      results.pop_back();
    }
  }
}

std::string Interleaving::TurnOf(const PlacedAttempt& result) const {
  return policy_.all_in_turns ? "" : result.attempt.implementation;
}

// Builds of one plugin offer the same implementation, and take turns where the memory of all is there.
bool Interleaving::CanHoldAll(const Problem& problem) const {
  return policy_.rounds > 1 && CountParallelDevices(problem, policy_.tier, devices_.size()) == devices_.size();
}

// Where the harness itself fails, that is an error of these results.
void Interleaving::Time(TrialRunner& runner, std::span<PlacedAttempt> results) const {
  std::vector<TrialRunner::Timed> group;
  for (auto& [place, attempt] : results) group.push_back({.device = &devices_[place.device], .attempt = &attempt});
  try {
    if (group.size() > 1) return runner.TimeInTurns(group);
    for (const TrialRunner::Timed& timed : group) runner.Time(*timed.device, *timed.attempt);
  } catch (const std::exception& fault) {
    for (auto& [place, attempt] : results) attempt.SetFault(fault);
  }
}

void Interleaving::Retry(TrialRunner& runner, PlacedAttempt& result) const {
  auto& [place, attempt] = result;
  const Device& device = devices_[place.device];
  if (policy_.runner.interrupted() || !IsRetried(device, attempt, policy_.retries)) return;
  // Nothing else lost it meanwhile.
  if (const auto& reset = policy_.retries.reset) ResetDevice(policy_.retries, device, attempt, reset->Resets(device));
  TryAgain(runner, device, attempt, policy_.retries, true);
}

}  // namespace assay
