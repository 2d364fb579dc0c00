// SPDX-License-Identifier: Apache-2.0
// Exact twins and omitted terms of reduce.
//   sum, mean  the coded terms of exact_code.h with a factor per row; mean is factor / K, see reduce_mean_twin.cc where
//              K is no power of two. Variant 1 of a sum climbs where the output shows all bits of the accumulator
//   prod       -1, +-2, +-1/2: every factor changes the result, no partial product leaves the range
//   ties       of sums, means over a power of two and products: half way between two outputs
//   integers   none but for i8 as i32: their results are exact already, and wrap around
//   l2, logsumexp  equal terms, see reduce_window_twin.cc
// Selections have none: their case data is exact already.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "golden/bound/bound.h"
#include "ops/binding.h"
#include "ops/exact_code.h"
#include "ops/exact_ties.h"
#include "ops/reduce/reduce.h"

namespace assay {
namespace {

enum ReduceStream : uint64_t { kRowFactor = 16, kPlacement };

bool IsPowerOfTwo(int64_t n) {
  return (n & (n - 1)) == 0;
}

std::optional<ExactCode> PlanSum(const ReduceArgs& op, const Problem& problem, const Contract& contract, int variant) {
  const double held = std::ldexp(1.0, TwinPartialBits(contract));
  const double shown = std::ldexp(1.0, TwinOutputBits(problem.outputs[0].dtype));
  const CodeBudget budget{.terms = op.terms,
                          .first = TwinInputLimit(problem.inputs[0].dtype, contract),
                          .second = 0,
                          .partial = held,
                          .result = std::min(held, shown),
                          .aim = ClimbingAim(contract),
                          .lowest = IsInt(problem.inputs[0].dtype)};
  // A mean's division may be off by more than one term of many.
  if (variant == 1 && op.kind == ReduceKind::kSum && ShowsAllBits(contract, problem.outputs[0].dtype)) {
    if (auto climbing = ExactCode::PlanClimbing(budget)) return climbing;
  }
  return ExactCode::Plan(budget);
}

std::optional<Twin> SumTwin(const ReduceArgs& op, const Problem& problem, const Contract& contract, int variant) {
  const std::optional<ExactCode> code = PlanSum(op, problem, contract, variant);
  if (!code) return std::nullopt;
  const bool mean = op.kind == ReduceKind::kMean;
  const auto count = static_cast<double>(op.terms);
  const DType out = problem.outputs[0].dtype;
  // 1/K must be a normal number everywhere it can appear.
  if (mean && 1 / count < std::max(FormatOf(out).MinNormal(), contract.AccMinNormal())) return std::nullopt;
  const auto factor = [&](int64_t row) { return static_cast<double>(code->Factor(kRowFactor, row)); };
  const auto sum = static_cast<double>(code->Sum(variant));
  Twin twin;
  twin.inputs.push_back(FillRows(op, problem.inputs[0], [&](int64_t row, int64_t k) {
    return factor(row) * static_cast<double>(code->Term(k, variant));
  }));
  for (int64_t row = 0; row < op.rows; ++row) twin.expected.push_back(factor(row) * sum / (mean ? count : 1));
  if (mean && contract.math_ulp != 0) {
    // The sum is exact; a division of the contract's accuracy follows, or a product with a rounded reciprocal.
    twin.tolerance_ulp = FinalTolerance(contract, out, 2 * std::max(contract.math_ulp, 0.5));
    // A missing term changes the mean by at least itself.
    if (kTwinDetectable * twin.tolerance_ulp * 2 * FormatOf(out).UnitRoundoff() > 1) return std::nullopt;
  }
  twin.terms = op.terms;
  twin.terms_of = [code = *code, variant, unit = mean ? count : 1](int64_t row, double part) {
    return code.TermsOf(part * unit / static_cast<double>(code.Factor(kRowFactor, row)), variant);
  };
  return twin;
}

// Dividing by a power of two, or scaling by its inverse at any time, is exact where quotients are faithful.
std::optional<TieCode> PlanTies(const ReduceArgs& op, const Problem& problem, const Contract& contract) {
  const bool divides = op.kind == ReduceKind::kMean && IsPowerOfTwo(op.terms) && contract.math_ulp <= 1;
  if ((op.kind != ReduceKind::kSum && !divides) || !PlanSum(op, problem, contract, 0)) return std::nullopt;
  const std::optional<TieCode> code =
      TieCode::Plan(op.terms, problem.inputs[0].dtype, problem.outputs[0].dtype, contract);  // none for integers
  if (!code || !divides) return code;
  const auto least = std::max(FormatOf(problem.outputs[0].dtype).MinNormal(), contract.AccMinNormal());
  return 1 / static_cast<double>(op.terms) < least ? std::nullopt : code;
}

double RowSign(int64_t row) {
  return static_cast<double>(2 * TwinFactor(kRowFactor, row, 2) - 3);
}

// Rows as TieCode has them, of either sign.
std::optional<Twin> TieTwin(const ReduceArgs& op, const Problem& problem, const Contract& contract) {
  const std::optional<TieCode> code = PlanTies(op, problem, contract);
  if (!code) return std::nullopt;
  const double count = op.kind == ReduceKind::kMean ? static_cast<double>(op.terms) : 1;
  Twin twin;
  twin.inputs.push_back(
      FillRows(op, problem.inputs[0], [&](int64_t row, int64_t k) { return RowSign(row) * code->Term(row, k); }));
  for (int64_t row = 0; row < op.rows; ++row) twin.expected.push_back(RowSign(row) * code->Rounded(row) / count);
  twin.code = DescribeTies("sums lie", contract);
  return twin;
}

bool HasProductTies(const ReduceArgs& op, const Problem& problem, const Contract& contract) {
  const DType in = problem.inputs[0].dtype, out = problem.outputs[0].dtype;
  if (op.kind != ReduceKind::kProd || op.terms < 2 || !IsFloat(out) || !contract.RoundsToNearest()) {
    return false;
  }
  return TwinPartialBits(contract) > FormatOf(out).precision + 1 &&
         std::ldexp(1.0, FormatOf(out).precision) <= static_cast<double>(TwinInputLimit(in, contract));
}

// 3 times an odd number, in the first and the last term, has one bit more than the output; all other terms are 1.
Twin ProductTieTwin(const ReduceArgs& op, const Problem& problem, const Contract& contract) {
  const DType out = problem.outputs[0].dtype;
  const double base = std::ldexp(1.0, FormatOf(out).precision);
  const auto odd = [&](int64_t row) { return 2 * std::floor(base / 6) + 3 + 2 * static_cast<double>(row % 8); };
  Twin twin;
  twin.inputs.push_back(FillRows(op, problem.inputs[0], [&](int64_t row, int64_t k) {
    return k == 0 ? RowSign(row) * odd(row) : k + 1 == op.terms ? 3.0 : 1.0;
  }));
  for (int64_t row = 0; row < op.rows; ++row) {
    twin.expected.push_back(RoundToNearest(out, contract, RowSign(row) * 3 * odd(row)));
  }
  twin.code = DescribeTies("products lie", contract);
  return twin;
}

// +-1/2 and +-2 at hashed places, -1 elsewhere. At most `twos` of either, so that no partial product leaves the range.
std::optional<Twin> ProdTwin(const ReduceArgs& op, const Problem& problem, const Contract& contract, int variant) {
  const double range = std::min(std::log2(contract.AccMaxFinite()), -std::log2(contract.AccMinNormal()));
  const double out_range = -std::log2(FormatOf(problem.outputs[0].dtype).MinNormal());
  const auto most = static_cast<int64_t>(std::min(range, out_range)) - 1;
  const int64_t twos = std::min(most, op.terms / 4);
  // Every `spacing`-th term is a power other than one, alternately 2 and 1/2.
  const int64_t spacing = twos > 0 ? (op.terms + 2 * twos - 1) / (2 * twos) : op.terms + 1;
  const auto term = [&](int64_t row, int64_t k) {
    const int64_t place = (k + row + variant) % spacing;
    if (place != 0 || spacing > op.terms) return -1.0;
    const int64_t which = (k + row + variant) / spacing;
    const double sign = TwinFactor(kPlacement + static_cast<uint64_t>(variant), row + which, 2) == 1 ? 1.0 : -1.0;
    return sign * (which % 2 == 0 ? 2.0 : 0.5);
  };
  Twin twin;
  twin.inputs.push_back(FillRows(op, problem.inputs[0], term));
  for (int64_t row = 0; row < op.rows; ++row) {
    double product = 1;
    for (int64_t k = 0; k < op.terms; ++k) product *= term(row, k);
    twin.expected.push_back(product);
  }
  twin.code = "one missing factor = expected / got: -1, or one of the row's few +-2, +-1/2";
  return twin;
}

// One row's faulty result without term k; NaN-safe only where value and term are finite.
double Without(const ReduceArgs& op, double value, double term) {
  switch (op.kind) {
    case ReduceKind::kSum:
      return value - term;
    case ReduceKind::kMean:
      return value - term / static_cast<double>(op.terms);
    case ReduceKind::kProd:
      return value / term;
    case ReduceKind::kL2: {
      const double share = term / value;
      return value * std::sqrt(std::max(0.0, (1 - share) * (1 + share)));
    }
    default:  // log-sum-exp
      return value + std::log1p(-std::min(1.0, std::exp(term - value)));
  }
}

// Whether almost nothing is left of a result without a term: the difference has lost its digits.
bool Cancels(const ReduceArgs& op, double rest, double term) {
  constexpr double kLeast = 1e-6;
  if (op.kind == ReduceKind::kLogSumExp) return rest < term + std::log(kLeast);
  if (op.kind == ReduceKind::kMean) rest *= static_cast<double>(op.terms);
  return op.kind != ReduceKind::kProd && std::abs(rest) < kLeast * std::abs(term);
}

// Recomputes the result without a term, if value or term is infinite, NaN or zero, or the closed form cancels.
double Recompute(const ReduceArgs& op, std::span<const double> row, int64_t omitted) {
  double sum = 0, product = 1, largest = -HUGE_VAL, total = 0;
  for (int64_t k = 0; k < std::ssize(row); ++k) {
    if (k == omitted) continue;
    sum += row[k];
    product *= row[k];
    total += row[k] * row[k];
    largest = std::isnan(row[k]) || row[k] > largest ? row[k] : largest;
  }
  if (op.kind == ReduceKind::kSum) return sum;
  if (op.kind == ReduceKind::kMean) return sum / static_cast<double>(op.terms);
  if (op.kind == ReduceKind::kProd) return product;
  if (op.kind == ReduceKind::kL2) return std::sqrt(total);
  if (!std::isfinite(largest)) return largest;
  double exponentials = 0;
  for (int64_t k = 0; k < std::ssize(row); ++k) exponentials += k == omitted ? 0 : std::exp(row[k] - largest);
  return largest + std::log(exponentials);
}

bool Same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// Whether term k takes no part in the result, so that omitting it is no fault.
bool IsNeutral(const ReduceArgs& op, double term) {
  if (op.kind == ReduceKind::kProd) return term == 1;
  return op.kind == ReduceKind::kLogSumExp ? term == -HUGE_VAL : term == 0;
}

// Selections: the second best, as if the winner had not been seen.
void OmitWinner(const ReduceArgs& op, const Tensor& x, int64_t output, std::vector<Mutant>& mutants) {
  if (op.terms == 1) {
    if (!IsArg(op.kind)) mutants.push_back({output, WantsSmallest(op.kind) ? HUGE_VAL : -HUGE_VAL});
    return;
  }
  const RowTerm winner = SelectFromRow(op, x, output), second = SelectFromRow(op, x, output, winner.index);
  const bool tied = Same(second.number, winner.number);
  if (tied && (!IsArg(op.kind) || op.tie_any)) return;  // an equal value is as good
  mutants.push_back({output, IsArg(op.kind) ? static_cast<double>(second.index) : second.number});
}

}  // namespace

double FinalTolerance(const Contract& contract, DType out, double acc_ulps) {
  const double acc_ulp = 2 * contract.AccUnitRoundoff(), out_ulp = 2 * FormatOf(out).UnitRoundoff();
  // A relative error of one acc_ulp is up to two ulp where the significand is near one, and the result may round once.
  return 2 * acc_ulps * acc_ulp / out_ulp + (contract.RoundsToNearest() ? 0.5 : 1.0);
}

std::optional<Twin> ReduceTwin(const Problem& problem, const Contract& contract, int variant) {
  const ReduceArgs op(problem);
  if (IsSelection(op.kind) || ReducesIntegers(problem) || contract.alg != Algorithm::kDirect) return std::nullopt;
  // Scaling every term by 1/K before the sum is as legal as dividing after it, and exact only for a power of two.
  if (op.kind == ReduceKind::kMean && !IsPowerOfTwo(op.terms)) return MeanTwin(problem, contract, variant);
  switch (op.kind) {
    case ReduceKind::kProd:
      if (variant == kTieVariant) return ProductTieTwin(op, problem, contract);
      return ProdTwin(op, problem, contract, variant);
    case ReduceKind::kL2:
      return L2Twin(problem, contract, variant);
    case ReduceKind::kLogSumExp:
      return LogSumExpTwin(problem, contract, variant);
    default:
      return variant == kTieVariant ? TieTwin(op, problem, contract) : SumTwin(op, problem, contract, variant);
  }
}

int ReduceTwinVariants(const Problem& problem, const Contract& contract) {
  const ReduceArgs op(problem);
  if (ReducesIntegers(problem)) return 0;
  if (op.kind == ReduceKind::kL2 || op.kind == ReduceKind::kLogSumExp) return WindowTwinVariants(problem, contract);
  const bool rounded = op.kind == ReduceKind::kMean && !IsPowerOfTwo(op.terms);
  if (rounded) return MeanTwinVariants(problem, contract);
  const bool has_ties = PlanTies(op, problem, contract) || HasProductTies(op, problem, contract);
  return has_ties ? kTieVariant + 1 : kTieVariant;
}

std::vector<Mutant> ReduceOmittedTerms(const Problem& problem, const Tensor& x, std::span<const double> values,
                                       std::span<const int64_t> outputs) {
  const ReduceArgs op(problem);
  if (ReducesIntegers(problem) && !IsSelection(op.kind)) return OmittedIntegers(problem, x, outputs);
  std::vector<Mutant> mutants;
  for (int64_t output : outputs) {
    if (IsSelection(op.kind)) {
      OmitWinner(op, x, output, mutants);
      continue;
    }
    std::vector<double> row;  // read where a closed form does not do
    for (int64_t k : SampledTerms(op.terms, output)) {
      const double term = ValueAt(x, op.OffsetOfRow(output) + op.OffsetOfTerm(k));
      if (IsNeutral(op, term)) continue;
      const bool plain = std::isfinite(values[output]) && std::isfinite(term) && values[output] != 0;
      double value = plain ? Without(op, values[output], term) : 0;
      if (!plain || Cancels(op, value, term)) {
        if (row.empty()) row = op.Row(x, output);
        value = Recompute(op, row, k);
      }
      if (!Same(value, values[output])) mutants.push_back({output, value, k});
    }
  }
  return mutants;
}

}  // namespace assay
