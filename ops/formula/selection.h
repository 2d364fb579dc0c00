// SPDX-License-Identifier: Apache-2.0
// The lines of which a kTopK node selects, and in which order.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "golden/dd/dd.h"
#include "ops/formula/block.h"

namespace assay::formula {

// Whether neither stands before the other: zeros of either sign, and NaN beside NaN, are alike.
inline bool AreAlike(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// In the arrays of a block.
struct SelectionLine {
  int64_t from = 0, from_stride = 1, size = 0;  // of the operand
  int64_t to = 0, to_stride = 1, ranks = 0;     // of the result
};

void ForSelections(const BlockPlan& plan, int node, int64_t lanes,
                   const std::function<void(const SelectionLine&)>& visit);

struct NumbersOfLine {
  const double* hi;
  const double* lo;  // nullptr: zeros
  SelectionLine line;
  DD At(int64_t i) const {
    const int64_t at = line.from + i * line.from_stride;
    return {hi[at], lo == nullptr ? 0 : lo[at]};
  }
};

// The places of the first `ranks` numbers in the order of the node.
std::vector<int64_t> Rank(const Node& node, const NumbersOfLine& numbers, int64_t ranks);

// Ranking of a faulty kernel that overlooks the number of one rank, or, if all numbers are in the result, swaps it with
// the next one. Places that are also right, because numbers are equal, stay.
std::vector<int64_t> RankWithout(const Node& node, const NumbersOfLine& numbers, int64_t rank);

}  // namespace assay::formula
