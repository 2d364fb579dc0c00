// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/share_interval.h"

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

}  // namespace assay
