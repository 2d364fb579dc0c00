// SPDX-License-Identifier: Apache-2.0
// How sure a share is that was measured on cases drawn at random.
#pragma once

#include <cstdint>
#include <span>

#include "harness/core/base/share_interval.h"

namespace assay {

// Counts of one cluster: all pairs of a case that was drawn.
struct DrawnTogether {
  int64_t events = 0, trials = 0;
};

// Confidence interval of a share if whole clusters were drawn at random: pairs of one case share its data and shape,
// and are caught or missed together more often than pairs of different ones. The trials are divided by the design
// effect, the variance between clusters over that of independent trials, if it is above 1 (Korn and Graubard 1998). If
// all are caught, or none, the design effect is unknown and each cluster counts as one trial.
Interval ClusteredInterval(std::span<const DrawnTogether> clusters);

}  // namespace assay
