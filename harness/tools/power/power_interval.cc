// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/power/power_interval.h"

#include <algorithm>
#include <cmath>

namespace assay {

Interval ClusteredInterval(std::span<const DrawnTogether> clusters) {
  int64_t events = 0, trials = 0;
  for (const DrawnTogether& one : clusters) events += one.events, trials += one.trials;
  if (trials > 0 && (events == 0 || events == trials)) {
    const auto drawn = std::ranges::count_if(clusters, [](const DrawnTogether& one) { return one.trials > 0; });
    return ShareInterval(events == 0 ? 0 : drawn, drawn);
  }
  if (clusters.size() < 2) return ShareInterval(events, trials);
  const auto n = static_cast<double>(trials), m = static_cast<double>(clusters.size());
  const double share = static_cast<double>(events) / n;
  double squares = 0;
  for (const DrawnTogether& one : clusters) {
    const double residual = static_cast<double>(one.events) - share * static_cast<double>(one.trials);
    squares += residual * residual;
  }
  const double times = std::max(1.0, squares * m / (m - 1) / (n * share * (1 - share)));
  const auto effective = static_cast<int64_t>(n / times);
  const auto missed = static_cast<int64_t>(std::ceil((n - static_cast<double>(events)) / times));
  return ShareInterval(std::max<int64_t>(0, effective - missed), effective);
}

}  // namespace assay
