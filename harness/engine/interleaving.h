// SPDX-License-Identifier: Apache-2.0
// Times the results of one case on all devices: in random order, and builds of one plugin in turns, so that whatever
// the machine does meanwhile meets both.
#pragma once

#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/engine/schedule.h"

namespace assay {

class Interleaving {
 public:
  // `random` is of orders alone. `is_quiet`: whether nothing else runs, or comes to its end; false where the user
  // interrupts before. All outlive this.
  Interleaving(const std::vector<Device>& devices, const RunPolicy& policy, std::mt19937_64& random,
               std::function<bool()> is_quiet)
      : devices_(devices), policy_(policy), random_(random), is_quiet_(std::move(is_quiet)) {}

  // One round of timing. Each result leaves `results` when `done` has it; one that ends with its worker is tried again
  // before. Asks before each group whether all is quiet, and ends where it does not become so.
  void TimeAll(TrialRunner& runner, std::vector<PlacedAttempt>& results,
               const std::function<void(PlacedAttempt&)>& done) const;

 private:
  std::string TurnOf(const PlacedAttempt& result) const;  // results with one name take turns
  bool CanHoldAll(const Problem& problem) const;
  void Time(TrialRunner& runner, std::span<PlacedAttempt> results) const;
  void Retry(TrialRunner& runner, PlacedAttempt& result) const;

  const std::vector<Device>& devices_;
  const RunPolicy& policy_;
  std::mt19937_64& random_;
  const std::function<bool()> is_quiet_;
};

}  // namespace assay
