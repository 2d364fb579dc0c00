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

}  // namespace assay
