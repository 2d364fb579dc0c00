// SPDX-License-Identifier: Apache-2.0
// Which results of a case are timed side by side, and what becomes of one that ends with its worker meanwhile.
#pragma once

#include <string>
#include <vector>

#include "harness/engine/trial/trial_runner.h"

namespace assay {

struct LoopSettings;

class Interleaving {
 public:
  // Both outlive this.
  Interleaving(const std::vector<Device>& devices, const LoopSettings& settings)
      : devices_(devices), settings_(settings) {}

  // Results with one name take turns.
  std::string TurnOf(const Attempt& attempt) const;

  // Whether builds of one plugin, which offer the same implementation, take turns: the memory of all is there then.
  bool CanHoldAll(const Problem& problem) const;

  // One round of timing. Where the harness itself fails in it, that is an error of these results.
  static void Time(TrialRunner& runner, std::vector<TrialRunner::Timed>& group);

  // After a round of timing. One that is tried again is judged and timed.
  void Retry(TrialRunner& runner, const Device& device, Attempt& attempt) const;

 private:
  const std::vector<Device>& devices_;
  const LoopSettings& settings_;
};

}  // namespace assay
