// SPDX-License-Identifier: Apache-2.0
// How sure a measured share is.
#pragma once

#include <cstdint>
#include <span>

namespace assay {

// Upper 95 % confidence limit of a rate of which `events` of `trials` were seen (Clopper and Pearson 1934, one-sided;
// about 3 / trials when none was seen). 1 without trials.
double UpperLimit(int64_t events, int64_t trials);

struct Interval {
  double low = 0, high = 1;
};

// The two-sided 95 % interval of a share (Clopper and Pearson): trials are independent.
Interval ShareInterval(int64_t events, int64_t trials);

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
