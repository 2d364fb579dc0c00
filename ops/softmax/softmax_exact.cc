// SPDX-License-Identifier: Apache-2.0
// Exact twins and omitted terms of softmax. A row of the twin is 0 at 2^j places of a pattern of its own and -inf
// elsewhere, so that every probability is 2^-j or 0. A dropped, doubled or leaked term makes it 1 / (2^j -+ 1). Where
// the contract's exp and division are faithful (math <= 1: what is representable comes out exact) or their error
// disappears in the output's rounding, the result is exact; otherwise it may be off by the contract's own bound.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/core/data/fill/rng.h"
#include "harness/core/data/infinity.h"
#include "ops/binding.h"
#include "ops/exp_error.h"
#include "ops/softmax/softmax.h"

namespace assay {
namespace {

constexpr double kDetectableTerm = 4;  // a missing term is at least this many tolerances

struct ShownTerms {
  int64_t visible = 0;   // 2^j
  double tolerance = 0;  // absolute, of a visible element
};

double OutputRoundoff(const Contract& contract, DType out) {
  return FormatOf(out).UnitRoundoff() * (contract.RoundsToNearest() ? 1 : 2);
}

// How far a probability of `visible` equal terms may be off, relatively. Each exponential is within eps of 1, which
// a storage of partial results that is much coarser than eps rounds to 1 itself, so that of all the roundings that the
// formula has for it, that of the quotient is left.
double RelativeReach(const Problem& problem, const Contract& contract, const std::vector<double>& row, double visible) {
  const OperationErrors errors(contract);
  if (!(errors.eps < errors.mid / 4)) return SoftmaxReach(problem, contract, row, 0) * visible;
  Contract unstored = contract;
  unstored.mid = Intermediate::kNone;
  return Join(SoftmaxReach(problem, unstored, row, 0) * visible, errors.mid);
}

// exp(0) is 1 by any contract, so that the accumulator's integers make the sum exact as far as they reach: left are a
// division, or a logarithm, and the roundings beside it.
std::optional<double> ReachOfExactSum(const Contract& contract, double visible) {
  const bool whole = contract.mid == Intermediate::kNone && contract.acc != Accumulator::kTensorCore;
  if (!whole || visible > std::ldexp(1.0, contract.AccExactBits())) return std::nullopt;
  const OperationErrors errors(contract);
  return 2 * errors.eps + 4 * errors.u;
}

ShownTerms ShownTermsOf(const SoftmaxArgs& op, const Problem& problem, const Contract& contract, int64_t visible) {
  const double u_out = OutputRoundoff(contract, problem.outputs[0].dtype), v = static_cast<double>(visible);
  std::vector<double> row(static_cast<size_t>(op.terms), -kInfinity);
  std::fill_n(row.begin(), visible, 0.0);
  const double exact = ReachOfExactSum(contract, v).value_or(kInfinity);
  if (op.log) {
    const double reach = std::min(SoftmaxReach(problem, contract, row, 0), exact * std::log(v));
    return {visible, reach + u_out * std::log(v)};
  }
  const double relative = std::min(RelativeReach(problem, contract, row, v), exact);
  // Below a power of two the output's spacing halves.
  const bool lost = contract.RoundsToNearest() && relative < u_out / 2;
  const bool faithful = contract.math_ulp <= 1 && v < std::ldexp(1.0, contract.AccExactBits());
  return {visible, lost || faithful ? 0 : (relative + u_out) / v};
}

// The largest 2^j of which a single missing term can be told.
std::optional<ShownTerms> FindShownTerms(const SoftmaxArgs& op, const Problem& problem, const Contract& contract) {
  if (contract.alg != Algorithm::kDirect) return std::nullopt;
  int64_t visible = 1;
  while (2 * visible <= op.terms) visible *= 2;
  if (visible == op.terms && visible >= 4) visible /= 2;  // a pattern needs places to hide
  for (; visible >= (op.log ? 2 : 1); visible /= 2) {
    const ShownTerms terms = ShownTermsOf(op, problem, contract, visible);
    const double effect = op.log ? 1.0 : 1.0 / static_cast<double>(visible);  // of a missing term, times v
    const double v = static_cast<double>(visible);
    const double noticed = op.log ? terms.tolerance * v
                                  : std::max(terms.tolerance * v, OutputRoundoff(contract, problem.outputs[0].dtype));
    if (effect >= kDetectableTerm * noticed) return terms;
  }
  return std::nullopt;
}

// The row's terms in the order in which they become visible: those that OmittedTerms tries, then the others at random.
std::vector<int64_t> VisibleOrder(int64_t row, int64_t terms) {
  std::vector<int64_t> order = SampledTerms(terms, row);
  std::vector<bool> sampled(static_cast<size_t>(terms));
  for (int64_t k : order) sampled[k] = true;
  const auto first = static_cast<int64_t>(order.size());
  for (int64_t k = 0; k < terms; ++k) {
    if (!sampled[k]) order.push_back(k);
  }
  constexpr uint64_t kSeed = 0x736f6674;  // any constant: a twin does not depend on the case's seed
  const RandomStream random(kSeed, static_cast<uint64_t>(row));
  for (int64_t i = terms - 1; i > first; --i) {
    const auto j =
        first + static_cast<int64_t>(random.Below(static_cast<uint64_t>(i), static_cast<uint64_t>(i + 1 - first)));
    std::swap(order[i], order[j]);
  }
  return order;
}

// The element of the row where a wrong sum shows best: the largest finite one. -1: there is none.
int64_t MostTelling(const SoftmaxArgs& op, std::span<const double> values, int64_t row) {
  int64_t best = -1;
  for (int64_t k = 0; k < op.terms; ++k) {
    const int64_t i = op.Offset(row, k);
    if (std::isfinite(values[i]) && (best < 0 || values[i] > values[best])) best = i;
  }
  return best;
}

}  // namespace

std::optional<Twin> SoftmaxTwin(const Problem& problem, const Contract& contract, int variant) {
  const SoftmaxArgs op(problem);
  const std::optional<ShownTerms> terms = FindShownTerms(op, problem, contract);
  if (!terms || (variant == 1 && terms->visible == op.terms)) return std::nullopt;
  const double v = static_cast<double>(terms->visible), shown = op.log ? -std::log(v) : 1 / v;
  std::vector<double> x(static_cast<size_t>(op.rows * op.terms), -kInfinity);
  Twin twin;
  twin.expected.assign(x.size(), op.log ? -kInfinity : 0);
  for (int64_t row = 0; row < op.rows; ++row) {
    const std::vector<int64_t> order = VisibleOrder(row, op.terms);
    const int64_t first = variant == 0 ? 0 : op.terms - terms->visible;
    for (int64_t i = first; i < first + terms->visible; ++i) {
      x[op.Offset(row, order[i])] = 0;
      twin.expected[op.Offset(row, order[i])] = shown;
    }
  }
  twin.inputs.emplace_back(problem.inputs[0].dtype, problem.inputs[0].shape);
  twin.inputs[0].SetDoubles(x);
  twin.tolerance_ulp = terms->tolerance / UlpAt(FormatOf(problem.outputs[0].dtype), shown);
  twin.code = fmt::format("terms that arrived = {}", op.log ? "exp(-got)" : "1 / got");
  return twin;
}

std::vector<Mutant> SoftmaxOmittedTerms(const Problem& problem, const Tensor& x, std::span<const double> values,
                                        std::span<const int64_t> outputs) {
  const SoftmaxArgs op(problem);
  const FloatFormat& format = FormatOf(problem.outputs[0].dtype);
  std::vector<Mutant> mutants;
  std::set<int64_t> done;
  for (int64_t output : outputs) {
    const int64_t row = op.RowOf(output);
    if (!done.insert(row).second) continue;
    const int64_t shown = MostTelling(op, values, row);
    if (shown < 0) continue;
    for (int64_t k : SampledTerms(op.terms, row)) {
      const double y = values[op.Offset(row, k)];
      if (!std::isfinite(y) || ValueAt(x, op.Offset(row, k)) == -kInfinity) continue;
      const double share = op.log ? std::exp(y) : y;
      const double wrong = op.log ? values[shown] - std::log1p(-share) : values[shown] / (1 - share);
      // A term too small to change the rounded result is out of any comparison's sight.
      if (RoundTo(format, wrong) == RoundTo(format, values[shown])) continue;
      mutants.push_back({.index = shown, .value = wrong, .key = row * op.terms + k});
    }
  }
  return mutants;
}

}  // namespace assay
