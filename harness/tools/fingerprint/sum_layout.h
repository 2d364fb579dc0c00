// SPDX-License-Identifier: Apache-2.0
// Where the terms of an operator's sums lie in its operands, and how a result tells a sum.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "harness/core/base/result.h"
#include "ops/operator.h"

namespace assay {

enum class SumKind : uint8_t {
  kGiven,         // terms are elements, or products of two
  kExponentials,  // terms are exponentials of elements, which are positive
  kMean,          // a mean is subtracted from the row: it shows among a number, its negative, and ones alone
  kSquares,       // terms are squares of elements
  kDeviations,    // terms are squares of distances from the row's mean
};

struct SumLayout {
  using Place = std::function<int64_t(int sum, int term)>;

  SumKind kind = SumKind::kGiven;
  int64_t terms = 0, sums = 0;   // sums of one execution, apart from each other
  int64_t all_a = 0, all_b = 0;  // sums that each operand has room for, where these are more
  size_t operand_a = 0, operand_b = 1;
  Place place_a, place_b;  // place_b: null without products
  std::function<int64_t(int sum)> place_y;
  std::vector<int64_t> places_y;  // of equal sums in the output; empty: all of it
  double output_factor = 1;       // by which results are less than their sum
  bool is_row = false;            // results are rows of as many elements as terms, in their places
  // Gives the sum by the results in places_a of its terms, or in place_y alone. Null: it is the one in place_y.
  std::function<double(std::span<const double>)> read;
  double large = 0;          // kMean: a number beside which ones count nothing, and that a square holds
  std::vector<size_t> ones;  // operands that are 1 everywhere, as the weights of a norm
  int labels = -1;           // operand whose elements are the place of the largest term of each sum
};

// Errors: attributes that change the sum; kUnsupported: another operator, or results that do not show their sum.
Result<SumLayout> LayOutSums(const Problem& problem);
// Lays out the sum of squares of a variance. Errors: kUnsupported: no norm with a mean, or results that hide it.
Result<SumLayout> LayOutVariance(const Problem& problem);

}  // namespace assay
