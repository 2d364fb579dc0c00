// SPDX-License-Identifier: Apache-2.0
// Climbing codes: all terms of one sign, so that every order of summation ends at the same large and odd sum. A format
// of fewer bits than the sum has no such number: whatever keeps the result in one is wrong, also a conversion at the
// very end, and every part of the sum that is long enough overflows it as well.
#include <algorithm>
#include <cmath>

#include "ops/exact_code.h"

namespace assay {

const ExactCode::Symbol& ExactCode::ClimbingSymbol(int64_t k) const {
  if (k == terms_ - 1) return last_;
  return symbols_[static_cast<size_t>(std::min(k, terms_ - 1 - k) / stride_ % digits())];
}

int64_t ExactCode::Sum(int variant) const {
  if (stride_ == 0) return 1;
  int64_t sum = 0;
  for (int64_t k = 0; k < terms_; ++k) sum += Term(k, variant);
  return sum;
}

// `wanted` of the largest magnitudes, or as many as there are, and one below them that makes the sum odd.
std::optional<ExactCode> ExactCode::Climb(const CodeBudget& budget, int64_t wanted) {
  const bool pairwise = budget.second > 0;
  const int64_t second_limit = pairwise ? budget.second : 1;
  // No partial sum, and no sum that has one term twice, may reach the budget.
  const double room = std::ceil(std::min(budget.partial, budget.result) / static_cast<double>(budget.terms + 1)) - 1;
  const double largest = std::min(room, static_cast<double>(budget.first) * static_cast<double>(second_limit));
  ExactCode code;
  code.terms_ = budget.terms;
  code.stride_ = DigitsToName(budget.terms);
  for (auto t = static_cast<int64_t>(largest); t >= 1; --t) {
    const bool swap = code.symbols_.size() % 2 != 0;
    const int64_t factor =
        swap ? SmallestFactor(t, second_limit, budget.first) : SmallestFactor(t, budget.first, second_limit);
    if (factor == 0) continue;
    const Symbol symbol = swap ? Symbol{t / factor, factor} : Symbol{factor, t / factor};
    if (code.digits() < wanted) {
      code.symbols_.push_back(symbol);
      code.last_ = code.symbols_[0];
      if (code.digits() < wanted || code.Sum(0) % 2 == 0) continue;
      return code;
    }
    code.last_ = symbol;
    if (code.Sum(0) % 2 != 0) return code;
  }
  return std::nullopt;
}

// All terms (limit + 1)^2, the last one limit^2, which is odd.
std::optional<ExactCode> ExactCode::ClimbLowest(const CodeBudget& budget) {
  ExactCode code;
  code.terms_ = budget.terms;
  code.stride_ = 1;
  code.signs_ = false;
  code.symbols_ = {{-budget.first - 1, budget.second > 0 ? -budget.second - 1 : 1}};
  code.last_ = {-budget.first, budget.second > 0 ? -budget.second : 1};
  const auto sum = static_cast<double>(std::abs(code.Sum(0) + code.symbols_[0].magnitude()));
  if (sum >= std::min(budget.partial, budget.result)) return std::nullopt;
  return code;
}

std::optional<ExactCode> ExactCode::PlanClimbing(const CodeBudget& budget) {
  std::optional<ExactCode> code;
  for (int64_t wanted = DigitsToName(budget.terms); wanted >= 1; wanted /= 2) {
    code = Climb(budget, wanted);
    if (code && static_cast<double>(code->Sum(0)) > budget.aim) return code;
  }
  std::optional<ExactCode> lowest = budget.lowest ? ClimbLowest(budget) : std::nullopt;
  const bool reaches = lowest && static_cast<double>(std::abs(lowest->Sum(0))) > budget.aim;
  // Below the aim nothing is narrow enough to be exposed: rather all digits.
  return reaches ? lowest : Climb(budget, DigitsToName(budget.terms));
}

bool ShowsAllBits(const Contract& contract, DType out) {
  return TwinOutputBits(out) >= TwinPartialBits(contract);
}

double ClimbingAim(const Contract& contract) {
  return contract.acc == Accumulator::kI32 ? std::ldexp(1.0, FormatOf(DType::kF32).precision) : 0;
}

double LargestSumOfIntegers(DType dtype, int64_t terms, int factors) {
  if (!IsInt(dtype)) return 0;
  return std::ldexp(static_cast<double>(terms), factors * (8 * SizeOf(dtype) - 1));
}

}  // namespace assay
