// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/statistics.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// `sorted` is ascending, at least up to the two values that count.
double SortedQuantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(position));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - static_cast<double>(below);
  return sorted[below] + weight * (sorted[above] - sorted[below]);
}

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

// In linear time: a timed loop asks after every call for that of all its times.
double Quantile(std::vector<double> values, double q) {
  const auto below = static_cast<std::ptrdiff_t>(std::floor(q * static_cast<double>(values.size() - 1)));
  const auto at = values.begin() + below;
  std::nth_element(values.begin(), at, values.end());
  if (at + 1 < values.end()) std::iter_swap(at + 1, std::min_element(at + 1, values.end()));
  return SortedQuantile(values, q);
}

TimingSummary Summarise(std::span<const double> seconds) {
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::sort(sorted.begin(), sorted.end());
  return {SortedQuantile(sorted, 0.5), SortedQuantile(sorted, 0.1), SortedQuantile(sorted, 0.9),
          static_cast<int64_t>(sorted.size())};
}

double UpperLimit(int64_t events, int64_t trials) {
  return LimitAt(0.05, events, trials);
}

Interval ShareInterval(int64_t events, int64_t trials) {
  if (trials == 0) return {};
  return {1 - LimitAt(0.025, trials - events, trials), LimitAt(0.025, events, trials)};
}

}  // namespace assay
