// SPDX-License-Identifier: Apache-2.0
// Roundings to nearest err as often away from zero as toward it. A kernel that cuts sums or operands leans to one side
// in every element, by less than a single one of them may be off.
#pragma once

#include <cstdint>

#include "harness/judge/judge.h"

namespace assay {

// Limit in deviations of a mean over N independent errors. The model of sigma may be off by 1.25, which leaves 5.6, a
// value that one tensor in 5 * 10^7 exceeds.
inline constexpr double kBiasThreshold = 7;

struct Bias {
  double lean = 0;    // mean of r with the sign of e times the sign of y: negative toward zero
  double limit = 0;   // kBiasThreshold / sqrt(N), and what the model permits in the mean
  double margin = 0;  // |lean| / limit
};

// `sum`: of those r over `finite` values, more than none. Outputs that are the same sum of the same terms, as equal
// rows of a product are, err alike and count once; those that the same number is added to (shared_addends) may err
// alike in that addition. Precondition: judge.bound().statistic.lean.
Bias MeasureBias(const ElementJudge& judge, double sum, int64_t finite);

}  // namespace assay
