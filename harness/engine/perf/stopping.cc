// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/perf/stopping.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace assay {

bool MedianIsSettled(std::span<const double> seconds, double relative) {
  // Below this the normal approximation would take the extremes or ranks outside the sample.
  constexpr size_t kFewest = 11;
  constexpr double kNormal95 = 1.96;
  const size_t n = seconds.size();
  if (n < kFewest) return false;
  const double half = kNormal95 * std::sqrt(static_cast<double>(n)) / 2;
  const double middle = static_cast<double>(n) / 2;
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::sort(sorted.begin(), sorted.end());
  // Ranks count from one: the interval from the rank below to the rank above covers at least 95 %.
  const double low = sorted[static_cast<size_t>(std::floor(middle - half)) - 1];
  const double high = sorted[static_cast<size_t>(std::ceil(middle + 1 + half)) - 1];
  const double median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  return median - low <= relative * median && high - median <= relative * median;
}

}  // namespace assay
