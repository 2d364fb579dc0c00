// SPDX-License-Identifier: Apache-2.0
// Order statistics of repeated timings.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay {

struct TimingSummary {
  double median_s = 0;
  double p10_s = 0;
  double p90_s = 0;
  int64_t samples = 0;
};

// The q-quantile (0..1) by linear interpolation between order statistics (Hyndman & Fan 1996, type 7).
// Precondition: not empty.
double Quantile(std::vector<double> values, double q);

TimingSummary Summarise(std::span<const double> seconds);  // precondition: not empty

// How sure a share is of which some events were counted.
//
// Upper 95 % confidence limit of a rate of which `events` of `trials` were seen (Clopper and Pearson 1934, one-sided;
// about 3 / trials when none was seen). 1 without trials.
double UpperLimit(int64_t events, int64_t trials);

struct Interval {
  double low = 0, high = 1;
};

// The two-sided 95 % interval of a share (Clopper and Pearson): trials are independent.
Interval ShareInterval(int64_t events, int64_t trials);

}  // namespace assay
