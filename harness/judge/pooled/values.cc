// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/pooled/values.h"

#include <cmath>

#include "harness/judge/statistic/groups.h"
#include "harness/judge/statistic/outliers.h"

namespace assay {
namespace {

// Variance that the output's rounding adds to an error delta before it. For a uniform position between two outputs,
// delta^2 becomes at most delta^2 + f (1 - f) of the spacing's square, f <= |delta| / spacing.
double RoundingVariance(double delta, double spacing) {
  return std::min(spacing * delta, spacing * spacing / 4);
}

PooledValue ReadValue(const ElementJudge& judge, int64_t i, double got) {
  PooledValue value;
  value.golden = judge.golden().value[static_cast<size_t>(i)];
  if (!std::isfinite(got) || !std::isfinite(value.golden) || judge.Open(i) || judge.Unbounded(i)) return value;
  const double error = PlaneAt(judge.golden().error, i, judge.golden().size()), rounded = judge.Rounded(i);
  value.sigma = kModelSlack * std::hypot(judge.Sigma(i), error);
  value.systematic = judge.Systematic(i);
  value.spacing = UlpAt(FormatOf(judge.dtype()), std::max(std::fabs(got), std::fabs(value.golden)));
  value.place = UlpAt(FormatOf(judge.dtype()), std::fabs(value.golden)) / 2 - std::fabs(value.golden - rounded);
  const double before = std::hypot(value.sigma, value.systematic);
  value.rounding = RoundingVariance(before, value.spacing);
  // Larger errors are findings of their own, so they are clamped.
  const double most = kElementThreshold * before + value.spacing;
  value.off = std::clamp(got - rounded, -most, most);
  value.counts = std::isfinite(rounded) && before > 0 && std::isfinite(before);
  return value;
}

}  // namespace

std::vector<PooledValue> ReadPooledValues(const ElementJudge& judge, const Tensor& got) {
  std::vector<PooledValue> values;
  ForEachPooled(judge, got, [&](int64_t i, double x) { values.push_back(ReadValue(judge, i, x)); });
  return values;
}

}  // namespace assay
