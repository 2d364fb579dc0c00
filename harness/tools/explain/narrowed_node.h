// SPDX-License-Identifier: Apache-2.0
// Results that come out where one number of the formula is kept in fewer bits: probabilities in bf16, a running sum in
// f16, a function of 12 bits.
#pragma once

#include <string>
#include <vector>

#include "harness/tools/explain/wrong_places.h"
#include "ops/formula/faults.h"

namespace assay {

// A formula with its operands and the wrong output, as an operator or a form of one has it.
struct FormulaOfResult {
  const formula::Graph& graph;
  std::vector<std::vector<double>> inputs;
};

struct NarrowedNode {
  formula::Narrowing narrowing;
  std::string text;  // "sum(x) rounded to bf16"
  ResultFit fit;
  Reach reach = Reach::kNothing;
};

// Does at most half of the work that `result` has left. Finds what explains the result, the nearest first, without what
// is much further off than it. Roundings of other kernels on the way may turn some of these ones the other way:
// kLeastWithin of the values have to be within the tolerance of the contract as declared, and their rms error at most a
// kLeastTimes-th of the one that was meant. Of the single errors, kLeastHit have to be a kHitTimes-th at most: a
// rounding in another place or order makes some of them, too, and leaves others as they are.
inline constexpr double kLeastWithin = 0.75, kLeastTimes = 4, kLeastHit = 0.9, kHitTimes = 16;
inline constexpr double kNearlyEqual = 1.2;  // times the rms error of the best cause
std::vector<NarrowedNode> FindNarrowedNodes(const FormulaOfResult& formula, const WrongResult& result);

// Whether a narrowing that was found on other data makes this result of the same kernel as closely: a rounding hits one
// set of data by chance, or because these data are exact, and not another one. On data that came out right it has to
// leave them so.
bool MakesResult(const FormulaOfResult& formula, const WrongResult& result, const formula::Narrowing& narrowing);

}  // namespace assay
