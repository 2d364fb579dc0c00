// SPDX-License-Identifier: Apache-2.0
// Probes of a few terms, which show how numbers are rounded on the way into a sum and in it.
#pragma once

#include <optional>
#include <string>

#include "harness/tools/fingerprint/prober.h"

namespace assay {

// Three terms of a sum: the first two meet before the third comes in, or all three at once, where the order is known.
struct ProbePlaces {
  int i = 0, j = 1, k = 2;
};
ProbePlaces ChoosePlaces(const std::optional<SumTree>& order, int terms);

// An error where a term alone, or two of them, do not come back: what was executed is no sum of them.
Status CheckAdds(Prober& prober);

// 1 + 2^-e keeps its last bit for e below the result. 0: it is lost from the first on; nothing is lost as far as the
// operands reach: that many.
Result<int> FindSumBits(Prober& prober, const ProbePlaces& at);
// kNotShown, or "to nearest even", "to nearest, away from zero", "toward zero", "up", "down", "otherwise (...)".
inline constexpr const char* kNearestEven = "to nearest even";
inline constexpr const char* kTowardZero = "toward zero";
inline constexpr const char* kNotShown = "not shown by these types";
Result<std::string> FindRounding(Prober& prober, const ProbePlaces& at, int bits);
Result<int> FindOperandBits(Prober& prober, const ProbePlaces& at);
// Nothing: the operands' products are exact in the accumulator.
Result<std::optional<bool>> FindContraction(Prober& prober, const ProbePlaces& at, int bits);
Result<bool> KeepsSubnormalOperands(Prober& prober, const ProbePlaces& at);
Result<bool> KeepsSubnormalResults(Prober& prober, const ProbePlaces& at);
Result<std::string> FindZero(Prober& prober);
Result<std::string> FindOverflow(Prober& prober, const ProbePlaces& at);

}  // namespace assay
