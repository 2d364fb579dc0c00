// SPDX-License-Identifier: Apache-2.0
// The reach of softmax written out, for rows that need nothing else of the formula's propagation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

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

  // reach of each probability. `distance`: the d_j, finite, one of them 0. False: this row needs the formula.
  bool Compute(std::span<const double> distance, std::span<double> reach);

 private:
  SoftmaxRowReach(const formula::ErrorRules& rules, int64_t terms);

  formula::ErrorRules rules_;
  double further_terms_, sum_error_, most_rescaled_;
  std::vector<double> e_, off_;
};

}  // namespace assay
