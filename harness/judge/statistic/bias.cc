// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/bias.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace assay {
namespace {

constexpr int64_t kSample = int64_t{1} << 18;

// Of golden values without sign; of those of a large tensor, drawn always alike.
std::vector<double> SampleValues(const ElementJudge& judge) {
  const auto& value = judge.golden().value;
  const auto size = static_cast<int64_t>(value.size());
  std::vector<double> sample(static_cast<size_t>(std::min(size, kSample)));
  std::mt19937_64 random;
  for (size_t i = 0; i < sample.size(); ++i) {
    const auto at = size <= kSample ? i : static_cast<size_t>(random() % static_cast<uint64_t>(size));
    sample[i] = std::fabs(value[at]);
  }
  return sample;
}

// Trials that have the variance of the mean which `finite` values have of which some are equal: 1 / (1/N + the chance
// that two of them are).
double IndependentValues(const ElementJudge& judge, int64_t finite) {
  std::vector<double> sample = SampleValues(judge);
  std::sort(sample.begin(), sample.end());
  double equal = 0;  // ordered pairs
  for (auto begin = sample.begin(); begin != sample.end();) {
    const auto end = std::upper_bound(begin, sample.end(), *begin);
    const auto count = static_cast<double>(end - begin);
    equal += count * (count - 1);
    begin = end;
  }
  const auto size = static_cast<double>(sample.size());
  return 1 / (1 / static_cast<double>(finite) + (size > 1 ? equal / (size * (size - 1)) : 0));
}

Bias BiasOver(double lean, double trials, double permitted) {
  const double limit = kBiasThreshold / std::sqrt(trials) + permitted;
  return {lean, limit, std::fabs(lean) / limit};
}

}  // namespace

Bias MeasureBias(const ElementJudge& judge, double sum, int64_t finite) {
  const auto n = static_cast<double>(finite);
  const double permitted = *judge.bound().statistic.lean;
  const Bias bias = BiasOver(sum / n, n, permitted);
  // Sorting is worth its while only where it decides.
  return bias.margin <= 1 ? bias : BiasOver(sum / n, IndependentValues(judge, finite), permitted);
}

}  // namespace assay
