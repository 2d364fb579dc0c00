// SPDX-License-Identifier: Apache-2.0
// How long the cases of a run are expected to take, by operator and backend, so that the run can say how much time is
// left. A case at the beginning of a suite may cost a hundred times as much as one at its end.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/plan/suite.h"

namespace assay {

inline constexpr std::string_view kOtherOperators = "";  // stands for those that are formulas

// Seconds of a case on a device, the part of the host in it.
struct RecordedCost {
  std::string_view op, backend;
  double small_s = 0;                            // of one with few operations that is not timed
  double other_s = 0, gflop_s = 0, gbyte_s = 0;  // of another one, and what each 1e9 operations and bytes add to it
  double timing_s = 0;                           // of timing, where one is timed
};

// Costs on one machine, from the records of suite `default`. scripts/recorded_costs.py writes recorded_costs.cc.
std::span<const RecordedCost> RecordedCosts();

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
