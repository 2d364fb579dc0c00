// SPDX-License-Identifier: Apache-2.0
// Costs of cases on one machine, from the records of suite `default`. scripts/recorded_costs.py writes
// recorded_costs.cc.
#pragma once

#include <span>
#include <string_view>

namespace assay {

inline constexpr std::string_view kOtherOperators = "";  // stands for those that are formulas

// Seconds of a case on a device, the part of the host in it.
struct RecordedCost {
  std::string_view op, backend;
  double small_s = 0;                            // of one with few operations that is not timed
  double other_s = 0, gflop_s = 0, gbyte_s = 0;  // of another one, and what each 1e9 operations and bytes add to it
  double timing_s = 0;                           // of timing, where one is timed
};

std::span<const RecordedCost> RecordedCosts();

}  // namespace assay
