// SPDX-License-Identifier: Apache-2.0
#include "ops/exact_ties.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/exact_code.h"

namespace assay {
namespace {

constexpr int64_t kMostCarriers = 5;

}  // namespace

double RoundToNearest(DType out, const Contract& contract, double y) {
  const bool away = contract.out == OutputRounding::kNearestAway;
  if (!IsFloat(out)) return away ? std::round(y) : std::nearbyint(y);
  return away ? RoundTiesAway(FormatOf(out), y) : RoundTo(FormatOf(out), y);
}

std::string DescribeTies(std::string_view what, const Contract& contract) {
  return fmt::format("{} half way between two outputs, and round to the {}", what,
                     contract.out == OutputRounding::kNearest ? "even one" : "one farther from zero");
}

std::optional<TieCode> TieCode::Plan(int64_t terms, DType in, DType out, const Contract& contract) {
  const bool rounds = IsFloat(out) && contract.RoundsToNearest();
  if (!rounds || !IsFloat(in) || terms < 2 || contract.alg != Algorithm::kDirect) return std::nullopt;
  const int p = FormatOf(out).precision;
  const double top = std::ldexp(1.0, p + 1);
  if (contract.in == InputRounding::kFP8 || top > FormatOf(in).max_finite) return std::nullopt;
  if (TwinPartialBits(contract) < p + 2) return std::nullopt;
  TieCode code;
  code.out_ = out;
  code.contract_ = contract;
  code.terms_ = terms;
  code.base_ = std::ldexp(1.0, p);
  code.step_ = std::max(4.0, std::ldexp(1.0, p + 1 - TwinInputBits(in, contract)));
  const auto carriers = static_cast<int64_t>(code.base_ / code.step_) - 1;
  code.carriers_ = std::min(carriers, kMostCarriers);
  return code.carriers_ > 0 ? std::optional(code) : std::nullopt;
}

// Behind the carrier 1, -1, 1 and so on; where their number is even the last one is -2.
double TieCode::Term(int64_t i, int64_t k) const {
  if (k == 0) return Carrier(i);
  const bool even = terms_ % 2 != 0;  // the number of the others
  const double sum = even ? -1 : 1;
  const double term = k % 2 != 0 ? 1 : even && k == terms_ - 1 ? -2 : -1;
  return Rest(i) * sum * term;
}

}  // namespace assay
