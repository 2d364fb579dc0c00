// SPDX-License-Identifier: Apache-2.0
// Twins of a mean over K terms, K no power of two. Dividing the sum by K, multiplying it by a rounded 1/K and scaling
// the terms, or sums of some of them, before they are added are all legal, and only the first of them has a result
// that is known to the bit. So the coded terms of exact_code.h (r t_k, sum r, mean r / K) come with a tolerance that
// every one of them keeps and no missing or doubled term does. In units of r / K, with
//   n, P   the terms that are not zero; the sum of the positive t, so that sum |t| = 2 P - 1
//   e      relative error of one scaling, u an addition's (twice the accumulator's unit roundoff: it may truncate)
// scaled terms are off by at most e (2 P - 1) together. An addition's exact operands add up to no more than P, so with
// a total error of A it rounds by at most u (P + A), and additions of zero do not round: A <= e (2 P - 1) +
// (n - 1) u (P + A). The output then rounds by u_out (1 + A). A missing or doubled t moves the result by |t| >= 1.
// P grows with n, so A with its square: long rows are cut into parts, and each variant's terms are zero but for those
// with k mod parts = variant.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/binding.h"
#include "ops/exact_code.h"
#include "ops/reduce/reduce.h"

namespace assay {
namespace {

constexpr uint64_t kMeanRowFactor = 16;
constexpr int kMostMeanParts = 8;             // each is one more execution
constexpr double kEvaluationError = 0x1p-50;  // r / K and the tolerance are evaluated in double

struct Errors {
  double scaling = 0;   // e
  double addition = 0;  // u
  double output = 0;    // u_out
};

Errors ErrorsOf(const ReduceArgs& op, const Contract& contract, DType out) {
  const double u = contract.AccUnitRoundoff();
  // Each reduced axis may be divided by its own length. A division of the contract's accuracy, or a product with a
  // rounded reciprocal of a rounded length.
  const double division = std::max(contract.math_ulp, 0.5) * 2 * u + 4 * u;
  return {.scaling = std::expm1(static_cast<double>(op.reduced.size()) * std::log1p(division)),
          .addition = 2 * u,
          .output = (contract.RoundsToNearest() ? 1 : 2) * FormatOf(out).UnitRoundoff()};
}

// A for n terms whose positive ones add up to `positive`; infinite where nothing is promised.
double Accumulated(const Errors& errors, int64_t n, double positive) {
  const double additions = static_cast<double>(n - 1) * errors.addition;
  if (additions >= 0.5) return HUGE_VAL;
  return (errors.scaling * (2 * positive - 1) + additions * positive) / (1 - additions) + kEvaluationError;
}

// In units of r / K. A result that lacks t, or has it twice, is at least 1 - A - u_out (2 + A) off.
bool Separates(const Errors& errors, double accumulated) {
  return 2 * (accumulated + errors.output * (1 + accumulated)) + errors.output <= 1;
}

struct Plan {
  int parts = 1;
  ExactCode code;
  double tolerance = 0;  // in units of r / K
};

// Terms of variant `part`: k = part, part + parts, ...
int64_t TermsOf(const ReduceArgs& op, int parts, int part) {
  return (op.terms - part + parts - 1) / parts;
}

double PositiveSum(const ExactCode& code, int variant) {
  double sum = 0;
  for (int64_t k = 0; k < code.terms(); ++k) sum += static_cast<double>(std::max<int64_t>(0, code.Term(k, variant)));
  return sum;
}

std::optional<ExactCode> PlanPart(const Problem& problem, const Contract& contract, const Errors& errors, int64_t n) {
  // The largest P whose tolerance separates, from Separates and Accumulated.
  const double most = (1 - 3 * errors.output) / (2 + 2 * errors.output) - kEvaluationError;
  const double additions = static_cast<double>(n - 1) * errors.addition;
  const double positive = (most * (1 - additions) + errors.scaling) / (2 * errors.scaling + additions);
  if (!(positive >= 1)) return std::nullopt;
  const double held = std::ldexp(1.0, TwinPartialBits(contract));
  return ExactCode::Plan({.terms = n,
                          .first = TwinInputLimit(problem.inputs[0].dtype, contract),
                          .second = 0,
                          .partial = held,
                          .result = std::min(held, std::ldexp(1.0, TwinOutputBits(problem.outputs[0].dtype))),
                          .unscaled = positive});
}

std::optional<Plan> PlanMean(const ReduceArgs& op, const Problem& problem, const Contract& contract) {
  const DType out = problem.outputs[0].dtype;
  const double count = static_cast<double>(op.terms), u = contract.AccUnitRoundoff();
  const bool plain = contract.mid == Intermediate::kNone && contract.acc != Accumulator::kTensorCore && u > 0;
  // Scaled terms that cancel leave a multiple of u / K, which must not be flushed.
  if (!plain || 1 / count < FormatOf(out).MinNormal() || u / count < contract.AccMinNormal()) return std::nullopt;
  const Errors errors = ErrorsOf(op, contract, out);
  for (int parts = 1; parts <= std::min<int64_t>(kMostMeanParts, op.terms); ++parts) {
    const std::optional<ExactCode> code = PlanPart(problem, contract, errors, TermsOf(op, parts, 0));
    if (!code) continue;
    const double positive = std::max(PositiveSum(*code, 0), PositiveSum(*code, 1));
    const double accumulated = Accumulated(errors, code->terms(), positive);
    if (!Separates(errors, accumulated)) continue;
    return Plan{parts, *code, (accumulated + errors.output * (1 + accumulated)) * (1 + kEvaluationError)};
  }
  return std::nullopt;
}

}  // namespace

int MeanTwinVariants(const Problem& problem, const Contract& contract) {
  const std::optional<Plan> plan = PlanMean(ReduceArgs(problem), problem, contract);
  return plan ? std::max(2, plan->parts) : 0;
}

std::optional<Twin> MeanTwin(const Problem& problem, const Contract& contract, int variant) {
  const ReduceArgs op(problem);
  const std::optional<Plan> plan = PlanMean(op, problem, contract);
  if (!plan) return std::nullopt;
  const int parts = plan->parts, part = parts > 1 ? variant : 0, digit = parts > 1 ? 0 : variant;
  // The last parts may have one term less; a code for fewer terms needs less room.
  const std::optional<ExactCode> code =
      PlanPart(problem, contract, ErrorsOf(op, contract, problem.outputs[0].dtype), TermsOf(op, parts, part));
  const auto factor = [&](int64_t row) {
    return static_cast<double>(TwinFactor(kMeanRowFactor, row, code->factors()));
  };
  Twin twin;
  twin.inputs.push_back(FillRows(op, problem.inputs[0], [&](int64_t row, int64_t k) {
    return k % parts == part ? factor(row) * static_cast<double>(code->Term(k / parts, digit)) : 0.0;
  }));
  for (int64_t row = 0; row < op.rows; ++row) {
    const double mean = factor(row) / static_cast<double>(op.terms);
    twin.expected.push_back(mean);
    twin.tolerances.push_back(plan->tolerance * mean / UlpAt(FormatOf(problem.outputs[0].dtype), mean));
  }
  twin.tolerance_ulp = *std::ranges::max_element(twin.tolerances);
  twin.code = fmt::format("one missing term t = 1 - got / expected to within {:.2g}; {}", plan->tolerance,
                          code->Describe(digit));
  if (parts > 1) twin.code += fmt::format("; of the terms with k mod {} = {}, numbered k / {}", parts, part, parts);
  return twin;
}

}  // namespace assay
