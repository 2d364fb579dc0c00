// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/softmax_reach.h"

#include <algorithm>
#include <cmath>

#include "golden/bound/bound.h"
#include "golden/sums/lanes.h"
#include "golden/sums/ranks.h"
#include "harness/core/base/multiversion.h"

namespace assay {
namespace {

// How far an exponential e may be off: e (a + a^2 / 2 (1 + 2 a)) for its exponent's a = add d <= 1, and its own error.
inline double ExponentialOff(double add, double function, double d, double e) {
  const double a = add * d, linear = e * a + 0.5 * e * a * a * (1 + 2 * a);
  return linear + function * e + function * linear;
}

struct TermSums {
  double sum[kSumLanes] = {}, off[kSumLanes] = {}, largest[kSumLanes] = {}, farthest[kSumLanes] = {};
};

ASSAY_MULTIVERSION void AddTerms(double add, double function, const double* __restrict d, const double* __restrict y,
                                 int64_t n, TermSums& __restrict sums) {
  for (int64_t i = 0; i < n; i += kSumLanes) {
    for (int lane = 0; lane < kSumLanes; ++lane) {
      const double e = y[i + lane], distance = d[i + lane];
      sums.sum[lane] += e;
      sums.off[lane] += ExponentialOff(add, function, distance, e);
      sums.largest[lane] = e > sums.largest[lane] ? e : sums.largest[lane];
      sums.farthest[lane] = distance > sums.farthest[lane] ? distance : sums.farthest[lane];
    }
  }
}

// (e + off) / (sum + of_sum), both relative to the sum, with the quotient's own error.
ASSAY_MULTIVERSION void QuotientsOff(double of_sum, double add, double function, double divide,
                                     const double* __restrict d, const double* __restrict y, double* __restrict reach,
                                     int64_t n) {
  const double amplify = 1 + of_sum / (1 - of_sum);
  for (int64_t i = 0; i < n; ++i) {
    const double off = ExponentialOff(add, function, d[i], y[i]), shared = y[i] * of_sum;
    const double linear = (shared + off + formula::kResidue * shared) * amplify;
    reach[i] = linear + divide * (y[i] + linear);
  }
}

}  // namespace

std::optional<SoftmaxRowReach> SoftmaxRowReach::For(const formula::ErrorRules& rules, int64_t terms) {
  const formula::InputRule input = rules.inputs.empty() ? formula::InputRule() : rules.inputs[0];
  const bool takes_inputs = input.relative == 0 && input.lost_below == 0 && input.overflow_at == 0;
  const bool stores = rules.store != 0 || rules.store_lambda != 0 || rules.lost_terms != 0;
  if (rules.quadrature || !takes_inputs || stores || rules.additions_underflow || terms < 2) return std::nullopt;
  return SoftmaxRowReach(rules, terms);
}

SoftmaxRowReach::SoftmaxRowReach(const formula::ErrorRules& rules, int64_t terms)
    : rules_(rules),
      further_terms_(static_cast<double>(terms - 1)),
      sum_error_(SumError(further_terms_, rules.sum)),
      most_rescaled_(std::expm1(further_terms_ * std::log1p(rules.rescale))) {}

void SoftmaxRowReach::Begin() {
  farthest_ = sum_ = off_ = largest_ = 0;
}

void SoftmaxRowReach::Add(std::span<const double> distance, std::span<const double> y) {
  TermSums sums;
  const size_t whole = y.size() / kSumLanes * kSumLanes;
  AddTerms(rules_.add, rules_.function, distance.data(), y.data(), static_cast<int64_t>(whole), sums);
  sum_ += SumLanes(sums.sum);
  off_ += SumLanes(sums.off);
  largest_ = std::max(largest_, *std::ranges::max_element(sums.largest));
  farthest_ = std::max(farthest_, *std::ranges::max_element(sums.farthest));
  for (size_t i = whole; i < y.size(); ++i) {
    sum_ += y[i];
    off_ += ExponentialOff(rules_.add, rules_.function, distance[i], y[i]);
    largest_ = std::max(largest_, y[i]);
    farthest_ = std::max(farthest_, distance[i]);
  }
}

// The largest exponential is 1: dividing by its probability makes exponentials of probabilities.
bool SoftmaxRowReach::Finish(std::span<const double> y) {
  if (!(farthest_ <= 600) || !(rules_.add * farthest_ <= 0.5) || !(largest_ > 0)) return false;
  const double sum = sum_ / largest_, off = off_ / largest_, size = sum + off;
  const double reached = off + formula::kResidue * size;
  const double ranks = SumOfRanks(y) / largest_ / further_terms_;
  const double rescaled = most_rescaled_ * (ranks + reached) * (1 + 0x1p-30);
  const double largest = (1 + sum_error_) * (size + rescaled);
  const double of_sum =
      off + sum_error_ * size + (1 + sum_error_) * rescaled + 2 * rules_.lambda * (further_terms_ + 1);
  of_sum_ = of_sum / sum;
  // The least result and its factors stay normal numbers, whatever they are off.
  const double least = std::exp(-farthest_) / sum;
  return largest < rules_.range / 2 && of_sum < sum && least > 0x1p10 * rules_.tiny;
}

void SoftmaxRowReach::Read(std::span<const double> distance, std::span<const double> y, std::span<double> reach) const {
  QuotientsOff(of_sum_, rules_.add, rules_.function, rules_.divide, distance.data(), y.data(), reach.data(),
               std::ssize(reach));
}

}  // namespace assay
