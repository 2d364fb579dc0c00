// SPDX-License-Identifier: Apache-2.0
// The reach of softmax written out, for rows that need nothing else of the formula's propagation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ops/formula/error.h"

namespace assay {

// The propagation of e_j / sum e, e_j = exp(-d_j), d_j = max x - x_j, with the sum rescaled in any order
// (formula/error.h): a few loops instead of some sixty passes over blocks of arrays. It has no term for operands that
// are rounded or flushed, intermediates that are stored, results that are flushed, and numbers near underflow or
// overflow.
class SoftmaxRowReach {
 public:
  // nullopt: the rules need the formula.
  static std::optional<SoftmaxRowReach> For(const formula::ErrorRules& rules, int64_t terms);

  // A row is told stretch by stretch: its distances d_j, finite, one of them 0, and its probabilities.
  void Begin();
  void Add(std::span<const double> distance, std::span<const double> y);
  // `y`: the whole row. False: it needs the formula.
  bool Finish(std::span<const double> y);
  // The reach of a stretch.
  void Read(std::span<const double> distance, std::span<const double> y, std::span<double> reach) const;

 private:
  SoftmaxRowReach(const formula::ErrorRules& rules, int64_t terms);

  formula::ErrorRules rules_;
  double further_terms_, sum_error_, most_rescaled_;
  double farthest_ = 0, sum_ = 0, off_ = 0, largest_ = 0, of_sum_ = 0;
};

}  // namespace assay
