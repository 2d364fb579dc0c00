// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/bias.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace assay {
namespace {

constexpr int64_t kSample = int64_t{1} << 18;
constexpr int64_t kShareSamples = 4096;

// All places of `size`, or so many, drawn always alike: a step might meet one column alone.
std::vector<int64_t> SamplePlaces(int64_t size, int64_t most) {
  std::vector<int64_t> places(static_cast<size_t>(std::min(size, most)));
  std::iota(places.begin(), places.end(), 0);
  std::mt19937_64 random;
  if (size > most) {
    for (int64_t& place : places) place = static_cast<int64_t>(random() % static_cast<uint64_t>(size));
  }
  return places;
}

// Samples magnitudes of finite golden values.
std::vector<double> SampleValues(const ElementJudge& judge) {
  const auto& value = judge.golden().value;
  std::vector<double> sample;
  for (const int64_t place : SamplePlaces(std::ssize(value), kSample)) {
    const double y = value[static_cast<size_t>(place)];
    if (std::isfinite(y)) sample.push_back(std::fabs(y));
  }
  return sample;
}

// Trials that have the variance of the mean which `finite` values have of which some are equal: 1 / (1/N + the chance
// that two others are).
double CountIndependentValues(const ElementJudge& judge, int64_t finite) {
  std::vector<double> sample = SampleValues(judge);
  std::sort(sample.begin(), sample.end());
  double equal = 0;  // ordered pairs
  for (auto begin = sample.begin(); begin != sample.end();) {
    const auto end = std::upper_bound(begin, sample.end(), *begin);
    const auto count = static_cast<double>(end - begin);
    equal += count * (count - 1);
    begin = end;
  }
  const auto size = static_cast<double>(sample.size()), n = static_cast<double>(finite);
  double chance = size > 1 ? equal / (size * (size - 1)) : 0;
  // A drawn place comes twice with the chance 1/N, which is no pair.
  if (static_cast<int64_t>(judge.golden().value.size()) > kSample) chance = std::max(0.0, chance - 1 / n);
  return 1 / (1 / n + chance);
}

// The share of |y_i|'s last addition in the variance of a result, in the mean over the sample. Twice |y_i|: sums on the
// way may be larger, as where c comes behind the bias.
double ShareOfLastAddition(const ElementJudge& judge) {
  const Golden& golden = judge.golden();
  const FloatFormat& format = FormatOf(judge.dtype());
  double sum = 0, count = 0;
  for (const int64_t i : SamplePlaces(golden.size(), kShareSamples)) {
    const double y = std::fabs(golden.value[static_cast<size_t>(i)]);
    if (!std::isfinite(y) || y == 0) continue;
    const double addition = 2 * judge.params().u_acc * y, own = judge.params().own_rounding_ulps * UlpAt(format, y);
    const double all = std::hypot(judge.Sigma(i), own / std::sqrt(3.0));
    const double share = all > 0 ? addition / (std::sqrt(3.0) * all) : 1;
    sum += std::min(1.0, share * share), ++count;
  }
  return count > 0 ? sum / count : 0;
}

// Variance that addends shared by many outputs add to the mean over all, in units of one output's variance.
double VarianceOfSharedAddends(const ElementJudge& judge) {
  const int64_t addends = judge.bound().statistic.shared_addends;
  return addends > 0 ? ShareOfLastAddition(judge) / static_cast<double>(addends) : 0;
}

Bias MakeBias(double lean, double trials, double permitted) {
  const double limit = kBiasThreshold / std::sqrt(trials) + permitted;
  return {lean, limit, std::fabs(lean) / limit};
}

}  // namespace

Bias MeasureBias(const ElementJudge& judge, double sum, int64_t finite) {
  const auto n = static_cast<double>(finite);
  const double permitted = *judge.bound().statistic.lean;
  const Bias bias = MakeBias(sum / n, n, permitted);
  // Sorting is worth its while only where it decides.
  if (bias.margin <= 1) return bias;
  const double variance = 1 / CountIndependentValues(judge, finite) + VarianceOfSharedAddends(judge);
  return MakeBias(sum / n, 1 / variance, permitted);
}

}  // namespace assay
