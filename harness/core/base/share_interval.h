// SPDX-License-Identifier: Apache-2.0
// How sure a share is of which some events were counted.
#pragma once

#include <cstdint>

namespace assay {

// Upper 95 % confidence limit of a rate of which `events` of `trials` were seen (Clopper and Pearson 1934, one-sided;
// about 3 / trials when none was seen). 1 without trials.
double UpperLimit(int64_t events, int64_t trials);

struct Interval {
  double low = 0, high = 1;
};

// The two-sided 95 % interval of a share (Clopper and Pearson): trials are independent.
Interval ShareInterval(int64_t events, int64_t trials);

}  // namespace assay
