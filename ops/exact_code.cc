// SPDX-License-Identifier: Apache-2.0
#include "ops/exact_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/data/fill/rng.h"
#include "harness/core/data/infinity.h"

namespace assay {
namespace {

// Beyond 2^26 larger magnitudes would expose nothing more: that is past f32's 24 bits already.
constexpr double kLargestMagnitude = 0x1p26;
// Magnitudes 1 and 2 belong to the middle terms alone.
constexpr int64_t kSmallestCoded = 3;

int64_t PairsOf(int64_t terms) {
  return (terms - 1) / 2;
}

}  // namespace

int64_t SmallestFactor(int64_t t, int64_t limit, int64_t other_limit) {
  // Doubles divide several times as fast as integers, and exactly where nothing is left of at most 2^53.
  const auto dividend = static_cast<double>(t);
  const auto divides = [&](int64_t f) {
    return dividend > 0x1p53 ? t % f == 0 : static_cast<int64_t>(dividend / static_cast<double>(f)) * f == t;
  };
  for (int64_t f = std::max<int64_t>(1, (t + other_limit - 1) / other_limit); f <= std::min(limit, t); ++f) {
    if (divides(f)) return f;  // at once for wide operands
  }
  return 0;
}

int64_t DigitsToName(int64_t terms) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(PairsOf(terms))))));
}

double LowestBit(double x) {
  if (x == 0) return kInfinity;
  int exponent = 0;
  const auto digits = static_cast<int64_t>(std::ldexp(std::frexp(std::fabs(x), &exponent), 53));
  return std::ldexp(static_cast<double>(digits & -digits), exponent - 53);
}

// The `wanted` largest magnitudes that fit: large terms make high peaks.
std::vector<ExactCode::Symbol> ExactCode::Choose(const CodeBudget& budget, int64_t factors, int64_t wanted) {
  const bool pairwise = budget.second > 0;
  const int64_t first_limit = budget.first / factors;
  const int64_t second_limit = pairwise ? budget.second / factors : 1;
  const double scale = static_cast<double>(pairwise ? factors * factors : factors);
  const int64_t pairs = std::max<int64_t>(1, PairsOf(budget.terms));
  std::vector<Symbol> symbols;
  if (first_limit < 2 || second_limit < (pairwise ? 2 : 1)) return symbols;  // the middle needs a 2

  // Strictly below both budgets: r c (pairs t + 2) for a partial sum, r c (1 + t) for a faulty result.
  const double top = std::min((budget.partial / scale - 2) / static_cast<double>(pairs), budget.result / scale - 1);
  const double largest =
      std::min({std::ceil(top) - 1, std::floor((budget.unscaled - 2) / static_cast<double>(pairs)), kLargestMagnitude,
                static_cast<double>(first_limit) * static_cast<double>(second_limit)});
  for (auto t = static_cast<int64_t>(largest); t >= kSmallestCoded && std::ssize(symbols) < wanted; --t) {
    // Alternately the wide factor stands in the second and in the first operand, so that a rounding of either shows.
    const bool swap = symbols.size() % 2 != 0;
    const int64_t factor =
        swap ? SmallestFactor(t, second_limit, first_limit) : SmallestFactor(t, first_limit, second_limit);
    if (factor > 0) symbols.push_back(swap ? Symbol{t / factor, factor} : Symbol{factor, t / factor});
  }
  std::ranges::reverse(symbols);
  return symbols;
}

std::optional<ExactCode> ExactCode::Plan(const CodeBudget& budget) {
  const int64_t wanted = DigitsToName(budget.terms);
  ExactCode best;
  best.terms_ = budget.terms;
  // Several factors tell rows and columns apart; two digits that name every k matter more.
  for (int64_t factors : {5, 3, 2, 1}) {
    std::vector<Symbol> symbols = Choose(budget, factors, wanted);
    if (std::ssize(symbols) > best.digits() && (factors > 1 || best.symbols_.empty())) {
      best.factors_ = factors;
      best.symbols_ = std::move(symbols);
    }
    if (best.digits() >= wanted && !best.symbols_.empty()) return best;
  }
  if (!best.symbols_.empty()) return best;

  // No room for digits: terms of +-1, which still show that something is missing.
  if (static_cast<double>(PairsOf(budget.terms) + (budget.terms % 2 == 0 ? 2 : 1)) > budget.unscaled)
    return std::nullopt;
  best.symbols_ = {Symbol{}};
  const bool pairwise = budget.second > 0;
  for (int64_t factors : {5, 3, 2, 1}) {
    const double scale = static_cast<double>(pairwise ? factors * factors : factors);
    const double peak = scale * static_cast<double>(PairsOf(budget.terms) + 2);
    const bool held = budget.first >= 2 * factors && (!pairwise || budget.second >= factors);
    if (!held || peak >= budget.partial || 2 * scale >= budget.result) continue;
    best.factors_ = factors;
    return best;
  }
  return std::nullopt;
}

const ExactCode::Symbol& ExactCode::SymbolOf(int64_t j, int variant) const {
  return symbols_[static_cast<size_t>(variant == 0 ? j % digits() : j / digits() % digits())];
}

int64_t ExactCode::First(int64_t k, int variant) const {
  if (stride_ > 0) return ClimbingSymbol(k).first;
  const int64_t mirrored = terms_ - 1 - k;
  if (k == mirrored) return 1;
  const int64_t sign = k < mirrored ? 1 : -1;
  const int64_t j = std::min(k, mirrored);
  if (j >= PairsOf(terms_)) return sign > 0 ? 2 : -1;
  return sign * SymbolOf(j, variant).first;
}

int64_t ExactCode::Second(int64_t k, int variant) const {
  if (stride_ > 0) return ClimbingSymbol(k).second;
  const int64_t j = std::min(k, terms_ - 1 - k);
  return j >= PairsOf(terms_) ? 1 : SymbolOf(j, variant).second;
}

int64_t ExactCode::Factor(uint64_t stream, int64_t i) const {
  if (stride_ == 0) return TwinFactor(stream, i, factors_);
  return signs_ ? 2 * TwinFactor(stream, i, 2) - 3 : 1;
}

std::vector<int64_t> ExactCode::TermsOf(double value, int variant) const {
  std::vector<int64_t> terms;
  for (int64_t k = 0; k < terms_; ++k) {
    if (static_cast<double>(Term(k, variant)) == value) terms.push_back(k);
  }
  return terms;
}

std::string ExactCode::Describe(int variant) const {
  std::string magnitudes;
  for (size_t begin = 0, end = 0; begin < symbols_.size(); begin = end) {
    for (end = begin + 1; end < symbols_.size(); ++end) {
      if (symbols_[end].magnitude() != symbols_[end - 1].magnitude() + 1) break;
    }
    magnitudes += fmt::format("{}{}", magnitudes.empty() ? "" : ",", symbols_[begin].magnitude());
    if (end - begin > 1) magnitudes += fmt::format("-{}", symbols_[end - 1].magnitude());
  }
  const std::string middle = terms_ % 2 != 0 ? fmt::format("+1: k = {}", terms_ / 2)
                                             : fmt::format("+2: k = {}, -1: k = {}", terms_ / 2 - 1, terms_ / 2);
  if (digits() == 1) return fmt::format("t = +-{} for k below, above the middle; {}", magnitudes, middle);
  const std::string digit =
      variant == 0 ? fmt::format("j mod {}", digits()) : fmt::format("(j / {0}) mod {0}", digits());
  return fmt::format("|t| = m[{}], m = {}; t > 0: k = j, t < 0: k = {} - j; {}", digit, magnitudes, terms_ - 1, middle);
}

int64_t TwinFactor(uint64_t stream, int64_t i, int64_t factors) {
  constexpr uint64_t kSeed = 0x7477696e;  // any constant: a twin does not depend on the case's seed
  const RandomStream random(kSeed, stream);
  return 1 + static_cast<int64_t>(random.Below(static_cast<uint64_t>(i), static_cast<uint64_t>(factors)));
}

int TwinInputBits(DType dtype, const Contract& contract) {
  const int bits = IsInt(dtype) ? 8 * SizeOf(dtype) - 1 : FormatOf(dtype).precision;
  switch (contract.in) {
    case InputRounding::kExact:
      return bits;
    case InputRounding::kTF32RN:
    case InputRounding::kTF32RZ:
      return std::min(bits, 11);
    case InputRounding::kBF16x3:  // three parts hold 24 bits, but their smallest products are dropped
    case InputRounding::kBF16:
      return std::min(bits, 8);
    case InputRounding::kFP8:
      return std::min(bits, FormatOf(DType::kE5M2).precision);
  }
  return bits;
}

int64_t TwinInputLimit(DType dtype, const Contract& contract) {
  const int64_t power = int64_t{1} << TwinInputBits(dtype, contract);
  return IsInt(dtype) ? power - 1 : power;
}

int TwinPartialBits(const Contract& contract) {
  const int bits = contract.AccExactBits();
  switch (contract.mid) {
    case Intermediate::kNone:
      return bits;
    case Intermediate::kF16:
      return std::min(bits, FormatOf(DType::kF16).precision);
    case Intermediate::kBF16:
      return std::min(bits, FormatOf(DType::kBF16).precision);
  }
  return bits;
}

int TwinOutputBits(DType dtype) {
  return IsInt(dtype) ? 8 * SizeOf(dtype) - 1 : FormatOf(dtype).precision;
}

}  // namespace assay
