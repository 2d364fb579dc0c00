// SPDX-License-Identifier: Apache-2.0
// How long the cases of a run are expected to take, by operator and backend, so that the run can say how much time is
// left. A case at the beginning of a suite may cost a hundred times as much as one at its end.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/plan/suite.h"

namespace assay {

class ExpectedCost {
 public:
  // `backends`: of the devices that run every case. `timing`: whether the run times anything.
  ExpectedCost(std::span<const PlannedCase> cases, std::span<const std::string> backends, bool timing, int rounds);

  // Seconds that the first `steps` steps take on the machine that the costs were recorded on. Each round has a step for
  // each case; rounds after the first begin with the cases that are timed, and the rest takes no time.
  double Until(size_t steps) const;
  double Total() const;

 private:
  std::vector<double> until_ = {0};  // of the first round
  size_t timed_ = 0;                 // cases
  double further_s_ = 0;             // of each further round
  int rounds_;
};

// Estimates the seconds that a run needs for what takes `ahead_s` on the recorded machine, where it took `elapsed_s`
// for what takes `behind_s` there.
double EstimateSecondsLeft(double elapsed_s, double behind_s, double ahead_s);

}  // namespace assay
