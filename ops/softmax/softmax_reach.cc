// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/softmax_reach.h"

#include <algorithm>
#include <cmath>

#include "golden/bound/bound.h"
#include "golden/sums/ranks.h"
#include "harness/base/multiversion.h"
#include "harness/data/fill/portable_math.h"

namespace assay {
namespace {

// off = how far each exponential may be off: e (a + a^2 / 2 (1 + 2 a)) for its exponent's a = add d <= 1, and its own
// error.
ASSAY_MULTIVERSION void ExponentialsOff(double add, double function, const double* __restrict d, double* __restrict e,
                                        double* __restrict off, int64_t n) {
  for (int64_t i = 0; i < n; ++i) e[i] = -d[i];
  internal::ExpKernels(e, e, n);
  for (int64_t i = 0; i < n; ++i) {
    const double a = add * d[i], linear = e[i] * a + 0.5 * e[i] * a * a * (1 + 2 * a);
    off[i] = linear + function * e[i] + function * linear;
  }
}

// (e + off) / (sum + of_sum) with the quotient's own error.
ASSAY_MULTIVERSION void QuotientsOff(double sum, double of_sum, double divide, const double* __restrict e,
                                     const double* __restrict off, double* __restrict reach, int64_t n) {
  const double inverse = 1 / sum, amplify = 1 + of_sum / (sum - of_sum);
  for (int64_t i = 0; i < n; ++i) {
    const double y = e[i] * inverse, shared = y * of_sum * inverse;
    const double linear = (shared + off[i] * inverse + formula::kResidue * shared) * amplify;
    reach[i] = linear + divide * (y + linear);
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
      most_rescaled_(std::expm1(further_terms_ * std::log1p(rules.rescale))),
      e_(static_cast<size_t>(terms)),
      off_(e_) {}

bool SoftmaxRowReach::Compute(std::span<const double> distance, std::span<double> reach) {
  const double farthest = std::ranges::max(distance);
  if (!(farthest <= 600) || !(rules_.add * farthest <= 0.5)) return false;
  ExponentialsOff(rules_.add, rules_.function, distance.data(), e_.data(), off_.data(), std::ssize(distance));
  double sum = 0, size = 0, off = 0;
  for (size_t i = 0; i < e_.size(); ++i) sum += e_[i], off += off_[i], size += e_[i] + off_[i];
  const double reached = std::max(0.0, size - sum) + formula::kResidue * size;
  const double rescaled = most_rescaled_ * (SumOfRanks(e_) / further_terms_ + reached) * (1 + 0x1p-30);
  const double largest = (1 + sum_error_) * (size + rescaled);
  const double of_sum =
      off + sum_error_ * size + (1 + sum_error_) * rescaled + 2 * rules_.lambda * (further_terms_ + 1);
  // The least result and its factors stay normal numbers, whatever they are off.
  const double least = std::exp(-farthest) / sum;
  if (!(largest < rules_.range / 2) || !(of_sum < sum) || !(least > 0x1p10 * rules_.tiny)) return false;
  QuotientsOff(sum, of_sum, rules_.divide, e_.data(), off_.data(), reach.data(), std::ssize(reach));
  return true;
}

}  // namespace assay
