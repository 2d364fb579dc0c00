// SPDX-License-Identifier: Apache-2.0
// Times the results of one case on all devices: in random order, and builds of one plugin in turns, so that whatever
// the machine does meanwhile meets both.
#pragma once

#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "harness/engine/schedule.h"

namespace assay {

class Interleaving {
 public:
  // Both outlive this.
  Interleaving(const std::vector<Device>& devices, const RunPolicy& policy) : devices_(devices), policy_(policy) {}

  // One round of timing. Each result leaves `results` when `done` has it; one that ends with its worker is tried again
  // before. Asks before each group whether nothing else runs, and ends where it does not become so.
  void TimeAll(TrialRunner& runner, std::vector<PlacedAttempt>& results, std::mt19937_64& random,
               const std::function<bool()>& is_quiet, const std::function<void(PlacedAttempt&)>& done) const;

 private:
  std::string TurnOf(const PlacedAttempt& result) const;  // results with one name take turns
  bool CanHoldAll(const Problem& problem) const;
  void Time(TrialRunner& runner, std::span<PlacedAttempt> results) const;
  void Retry(TrialRunner& runner, PlacedAttempt& result) const;

  const std::vector<Device>& devices_;
  const RunPolicy& policy_;
};

}  // namespace assay
