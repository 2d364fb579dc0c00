// SPDX-License-Identifier: Apache-2.0
#include "harness/power/power_interval.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// P(X <= events) of a binomial distribution.
double BinomialCdf(int64_t events, int64_t trials, double rate) {
  const auto n = static_cast<double>(trials);
  double log_term = n * std::log1p(-rate), sum = std::exp(log_term);
  for (int64_t k = 1; k <= events; ++k) {
    const auto x = static_cast<double>(k);
    log_term += std::log((n - x + 1) / x) + std::log(rate) - std::log1p(-rate);
    sum += std::exp(log_term);
  }
  return sum;
}

// The rate at which so few events have the chance `miss`.
double LimitAt(double miss, int64_t events, int64_t trials) {
  if (events >= trials) return 1;
  double low = 0, high = 1;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (BinomialCdf(events, trials, middle) > miss ? low : high) = middle;
  }
  return high;
}

}  // namespace

double UpperLimit(int64_t events, int64_t trials) {
  return LimitAt(0.05, events, trials);
}

Interval ShareInterval(int64_t events, int64_t trials) {
  if (trials == 0) return {};
  return {1 - LimitAt(0.025, trials - events, trials), LimitAt(0.025, events, trials)};
}

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
