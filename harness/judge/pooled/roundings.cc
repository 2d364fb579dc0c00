// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "harness/judge/pooled/gather.h"

namespace assay {
namespace {

// Errors that are no small part of a spacing tell nothing.
constexpr double kLargestError = 1.0 / 8;
// Golden values so near to where rounding changes are ties of short sums: their place is not even.
constexpr double kNearTie = 1.0 / 64;

bool IsAsked(const PooledValue& value) {
  const double before = std::hypot(value.sigma, value.systematic);
  return value.counts && before <= kLargestError * value.spacing && value.place > kNearTie * before;
}

// Marks one result for each golden value.
std::vector<bool> FindDistinct(std::span<const PooledValue> values) {
  std::vector<size_t> order;
  for (size_t i = 0; i < values.size(); ++i) {
    if (IsAsked(values[i])) order.push_back(i);
  }
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return values[a].golden != values[b].golden ? values[a].golden < values[b].golden : a < b;
  });
  std::vector<bool> distinct(values.size());
  for (size_t k = 0; k < order.size(); ++k) {
    distinct[order[k]] = k == 0 || values[order[k]].golden != values[order[k - 1]].golden;
  }
  return distinct;
}

}  // namespace

bool HasRoundings(const ElementJudge& judge) {
  const StatisticModel& model = judge.bound().statistic;
  const bool is_narrow = judge.dtype() == DType::kF16 || judge.dtype() == DType::kBF16;
  return is_narrow && (model.lean || model.shared);
}

// The mean of |delta| is at most T + sqrt(1 + drift^2) sigma. The errors of a block exceed it together; given
// these errors, each result is one trial.
PooledTest RoundingsOf(std::span<const PooledValue> values, int64_t block, double drift) {
  const std::vector<bool> distinct = FindDistinct(values);
  PooledTest sums{.question = std::string(kRoundingsQuestion), .proves = true, .step = 1.0 / 3};
  const auto size = static_cast<int64_t>(values.size());
  for (int64_t begin = 0; begin < size; begin += block) {
    double together = 0;
    for (int64_t i = begin; i < std::min(size, begin + block); ++i) {
      const PooledValue& value = values[static_cast<size_t>(i)];
      if (!distinct[static_cast<size_t>(i)]) continue;
      const double chance = (value.systematic + std::hypot(1.0, drift) * value.sigma) / value.spacing;
      sums.agreement += value.off != 0 ? 1 : 0;
      sums.information += 1;
      sums.granted += chance;
      sums.variance += chance;
      together += value.sigma / value.spacing;
    }
    sums.variance += together * together;
    sums.step = std::max(sums.step, together / std::numbers::pi + 1.0 / 3);
  }
  return sums;
}

}  // namespace assay
