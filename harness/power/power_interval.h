// SPDX-License-Identifier: Apache-2.0
// How sure a share is that was measured on cases drawn at random.
#pragma once

#include <cstdint>
#include <span>

#include "harness/base/share_interval.h"

namespace assay {

// Of what was drawn together.
struct DrawnTogether {
  int64_t events = 0, trials = 0;
};

// The same where whole clusters were drawn at random: pairs of one case share its data and shape, and are caught or
// missed together more often than pairs of different ones. The trials are divided by how many times the variance
// between clusters is that of independent trials (Korn and Graubard 1998), where that is more. Where all are caught, or
// none, nothing tells whether pairs of one case are caught one by one: each cluster is one trial.
Interval ClusteredInterval(std::span<const DrawnTogether> clusters);

}  // namespace assay
