// SPDX-License-Identifier: Apache-2.0
// The hard bounds of reduce. u = u_acc, doubled to cover accumulators that truncate.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "harness/core/data/infinity.h"
#include "ops/exp_error.h"
#include "ops/formula/error.h"
#include "ops/lost_terms.h"
#include "ops/reduce/reduce.h"

namespace assay {
namespace {

// The absolute error of one operation that underflows.
double Lambda(const Contract& contract) {
  if (contract.ftz != Flush::kNone) return contract.AccMinNormal();
  const double share = contract.acc == Accumulator::kTensorCore ? 1.0 : 0.5;  // truncating or to nearest
  return std::max(share * contract.AccMinSubnormal(), std::numeric_limits<double>::denorm_min());
}

// Rounding of the inputs to a narrower class changes every term by this, relatively.
double InputError(const Contract& contract) {
  return contract.InputUnitRoundoff();
}

// The relative error of one division, square root, exp or log.
double MathError(const Contract& contract) {
  return (std::max(contract.math_ulp, 0.5)) * 2 * contract.AccUnitRoundoff();
}

void AddFlushedInputs(BoundModel& bound, const Golden& golden, const Contract& contract) {
  const Plane* mass = golden.Extra("subnormal_mass");
  if (mass != nullptr && contract.FlushesInputs()) bound.terms.push_back({mass, 1});
}

BoundModel MeanBound(const ReduceArgs& op, const Golden& golden, const Contract& contract, DType in, DType out) {
  const auto terms = static_cast<double>(op.terms);
  // Division, or multiplication by a rounded reciprocal; the count itself may round (K in f16).
  const double division = MathError(contract) + 4 * contract.AccUnitRoundoff();
  BoundModel bound = SumBound(golden, contract, out,
                              {.terms = terms,
                               .height = PathRoundings(contract, terms, false, in),
                               .products = false,
                               .squares_known = true,
                               .extra_relative = division});
  bound.partial_overflow_at /= terms;  // the magnitude plane is S / K
  // A running mean, m += (x - m) / n, has differences of either sign on the way.
  bound.partial_signs = PartialSigns::kEither;
  // It makes NaN of an infinity, inf - inf, as soon as another term follows.
  for (int64_t i = 0; op.terms > 1 && i < golden.size(); ++i) {
    if (std::isinf(golden.value[static_cast<size_t>(i)])) Admit(bound, golden.size(), i, kAlsoNan);
  }
  return bound;
}

// The density of squares has a pole c q^-1/2 at zero, which AddGridBias leaves out. The mean error of adding q on a
// grid of spacing h is there c h^1.5 / (2 pi) sum (-1)^m m^-1.5 = -0.122 c h^1.5 (Fourier series of the sawtooth, term
// by term). c = (K / (2 Q))^0.5, of magnitudes with an exponential distribution, and sum h^1.5 <= K^0.25 (sum h^2)^0.75
// with sum h^2 = 12 sigma_Q^2. Q = y^2 and sigma_Q = 2 y sigma make that 0.785 K^0.75 sigma^1.5 y^-0.5 of the root.
void AddSquareBias(BoundModel& bound, const Golden& golden, const Contract& contract, double terms) {
  constexpr double kLeastShare = 1.0 / 16;  // of sigma; less is within what the model of sigma may be off
  const double u = contract.AccUnitRoundoff(), coefficient = 0.785 * std::pow(terms, 0.75);
  // sigma <= 0.425 u sqrt(K) y / 2: sigma_Q is largest where every running sum is Q.
  if (coefficient * std::sqrt(0.5 * kRoundingDeviation * u * std::sqrt(terms)) < kLeastShare) return;
  if (golden.sigma.empty()) return;
  auto bias = std::make_shared<Plane>(golden.sigma.size(), golden.sigma.wide());
  for (int64_t i = 0; i < golden.sigma.size(); ++i) {
    const double y = golden.value[static_cast<size_t>(i)];
    if (std::isfinite(y) && y > 0) bias->SetUp(i, coefficient * std::pow(u * golden.sigma[i], 1.5) / std::sqrt(y));
  }
  bound.statistic.systematic.push_back({bias.get(), 1});
  bound.owned.push_back(std::move(bias));
}

// sqrt(Q (1 + d)) with |d| <= gamma_{K+1}: each square rounds once, then K - 1 additions; half of it after the root
// (to first order; gamma of 2u is twice what rounding to nearest needs). Underflow: |sqrt(Q + e) - sqrt(Q)| <=
// e / sqrt(Q), which reaches |y| itself where the squares vanish, so that 0 is accepted there.
BoundModel L2Bound(const ReduceArgs& op, const Golden& golden, const Contract& contract, DType out) {
  BoundModel bound = OutputBound(contract, out);
  const auto terms = static_cast<double>(op.terms);
  const double gamma = SumError(terms + 1, 2 * contract.AccUnitRoundoff());
  const double root = gamma < 0.5 ? gamma / (2 * (1 - gamma)) : gamma;  // sqrt(1 - g) >= 1 - g / (2 (1 - g))
  const double input = InputError(contract);
  const double relative = (1 + root) * (1 + MathError(contract)) * (1 + input) - 1;
  bound.terms.push_back({&golden.magnitude, relative});
  bound.terms.push_back({golden.Extra("inverse"), (2 * terms + 1) * Lambda(contract)});
  AddFlushedInputs(bound, golden, contract);
  bound.constant += Lambda(contract);
  bound.statistic.of_value = MathError(contract);  // of the root
  // With Q = y^2 the sum's 1.5 K sigma_Q^2 / Q, sigma_Q = 2 y sigma, is over 2 y as well.
  AddGridBias(bound, golden, contract, terms, 2);
  AddSquareBias(bound, golden, contract, terms);
  // An infinity is accepted where Q reaches the accumulator's range; magnitude is sqrt(Q).
  bound.growth = 1 + relative;
  bound.partial_overflow_at = std::sqrt(contract.AccMaxFinite());
  bound.partial_signs = PartialSigns::kNonNegative;  // squares
  return bound;
}

// Admits the results of orders whose partial products leave the accumulator's normal range. Beyond the largest number
// they are infinite and stay so, or meet a zero. Below the smallest they lose digits, or vanish, and are scaled up
// again: any number of the right sign. Both together give zero times infinity.
void AdmitPartialProducts(const Golden& golden, double up_at, double down_at, BoundModel& bound) {
  const Plane &up = *golden.Extra("log2_up"), &down = *golden.Extra("log2_down");
  for (int64_t i = 0; i < golden.size(); ++i) {
    const bool overflows = up[i] >= up_at, underflows = down[i] >= down_at;
    const double y = golden.value[i];
    if (overflows) Admit(bound, golden.size(), i, kAlsoSignedInfinity);
    if (underflows) Admit(bound, golden.size(), i, kAlsoSignedFinite);
    if ((overflows && (underflows || y == 0)) || (underflows && std::isinf(y))) {
      Admit(bound, golden.size(), i, kAlsoNan);
    }
  }
}

// gamma_{K-1}(2u) |y| unless some order's partial product leaves the accumulator's normal range.
BoundModel ProdBound(const ReduceArgs& op, const Golden& golden, const Contract& contract, DType out) {
  BoundModel bound = OutputBound(contract, out);
  const auto terms = static_cast<double>(op.terms);
  const double gamma = SumError(terms - 1, 2 * contract.AccUnitRoundoff());
  const double input = std::expm1(terms * std::log1p(InputError(contract)));
  bound.terms.push_back({&golden.magnitude, (1 + gamma) * (1 + input) - 1});
  AddFlushedInputs(bound, golden, contract);
  if (contract.FlushesInputs()) AdmitWhere(bound, *golden.Extra("lost_infinity"), 1, kAlsoNan);
  const double slack = std::log2(1 + gamma) + std::log2(1 + input);  // of the partial products' own rounding
  AdmitPartialProducts(golden, std::log2(contract.AccMaxFinite()) - slack - 0x1p-10,
                       -std::log2(contract.AccMinNormal()) - slack - 0x1p-10, bound);
  bound.growth = 1;
  bound.partial_overflow_at = kInfinity;
  return bound;
}

// The running sum's error, which grows with the mean rank of its terms: at most linearly up to the largest one.
void AddRunningSum(const Golden& golden, const Contract& contract, double terms, BoundModel& bound) {
  const Plane& mean_rank = *golden.Extra("mean_rank");
  double largest = 0;
  for (int64_t i = 0; i < mean_rank.size(); ++i) largest = std::max(largest, mean_rank[i]);
  const double least = LogOfSumError(contract, terms, 0);
  bound.constant += least;
  const double most = LogOfSumError(contract, terms, largest);
  if (largest > 0) bound.terms.push_back({&mean_rank, std::isfinite(least) ? (most - least) / largest : 0});
}

// The running sum's error, u sum p |x - m|, eps_log |LSE - m| and the final addition. The differences of
// all rescalings that a term meets add up to its own |x - m|: their errors are within its share of the second.
BoundModel LogSumExpBound(const ReduceArgs& op, const Golden& golden, const Contract& contract, DType in, DType out) {
  BoundModel bound = OutputBound(contract, out);
  const auto terms = static_cast<double>(op.terms);
  const OperationErrors errors(contract);
  AddRunningSum(golden, contract, terms, bound);
  // Inputs that move by u_in |x| <= u_in (|m| + d), d = m - x, move LSE by at most u_in |m| for all of them together
  // and g(1 - u_in) - g(1) <= u_in (log K - g(1)) with g(s) = log sum exp(-s d), which is convex, g(0) = log K and
  // g(1) = LSE - m. Together u_in (|LSE| + log K): |LSE| alone can vanish. Subnormals have no relative bound.
  const double input = InputRoundoff(contract, in);
  bound.constant += input * std::log(terms) * (1 + 0x1p-40);
  if (contract.FlushesInputs() || input > 0) bound.constant += 2 * FormatOf(in).MinNormal();
  bound.terms.push_back({golden.Extra("spread"), 2 * Join(errors.u, errors.mid)});
  bound.terms.push_back({golden.Extra("log_part"), Join(errors.eps, errors.mid)});
  bound.terms.push_back({&golden.magnitude, errors.u + input});
  bound.constant += Lambda(contract) + errors.mid_abs;
  // The functions' errors are no random roundings, and dominate: exp, about log2 K rescalings, log.
  const double functions = errors.eps * (2 + std::log2(terms) + std::log(terms));
  bound.statistic.constant = functions + (terms + 1) * Lambda(contract);
  bound.statistic.shared = true;
  bound.growth = 1;
  bound.partial_overflow_at = kInfinity;
  return bound;
}

// Exact, but for subnormals where the contract flushes them: then the winner, or its index, is one of many.
BoundModel SelectionBound(const ReduceArgs& op, const Golden& golden, const Contract& contract, bool integers) {
  BoundModel bound;
  bound.exact = true;
  if (integers) return bound;
  if (contract.nan == NanPolicy::kAny || (contract.nan == NanPolicy::kIgnore && !op.ignore_nan)) {
    // The golden value follows the case's policy, the plane the other one. A kernel by whose declaration
    // NaN loses is right where it does, whatever the case asks for: the case's requirement rejects the declaration.
    bound.also_value = golden.Extra("other_policy");
    const Plane& with_nan = *golden.Extra("nan_inputs");
    AdmitWhere(bound, with_nan, 1, kAlsoValue);
    if (!IsArg(op.kind) && contract.nan == NanPolicy::kAny) AdmitWhere(bound, with_nan, 1, kAlsoNan);
  }
  if (contract.ftz == Flush::kNone) return bound;
  if (IsArg(op.kind)) {
    bound.also_indices = static_cast<double>(op.terms);
    AdmitWhere(bound, *golden.Extra("subnormal_winner"), 1, kAlsoIndex);
    return bound;
  }
  bound.exact = false;
  bound.terms.push_back({golden.Extra("subnormal_mass"), 1});
  bound.overflow_at = bound.partial_overflow_at = kInfinity;
  return bound;
}

// For kinds whose bound is not SumBound's. What is flushed or underflows is systematic.
void CompleteStatistic(double terms, bool squares, DType in, const Golden& golden, const Contract& contract,
                       BoundModel& bound) {
  StatisticModel& statistic = bound.statistic;
  statistic.applicable = InputRoundoff(contract, in) == 0 && contract.mid == Intermediate::kNone &&
                         contract.acc != Accumulator::kTensorCore && contract.alg == Algorithm::kDirect;
  if (squares && FormatOf(in).precision <= FormatOf(DType::kF16).precision) {
    statistic.of_value += formula::kNarrowSquareLoss / 2 * terms * contract.AccUnitRoundoff();  // of the root
  }
  statistic.stagnates = terms * contract.AccUnitRoundoff() > 0.125;
  AddLostTerms(golden.Extra("lost_terms"), LostTermsRoundoff(in == DType::kF64), contract, bound);
  for (const BoundTerm& term : bound.terms) {
    const bool lost = term.plane == golden.Extra("subnormal_mass") || term.plane == golden.Extra("inverse");
    if (lost) statistic.systematic.push_back(term);
  }
}

}  // namespace

double LogOfSumError(const Contract& contract, double n, double mean_rank) {
  const double sum = RunningSumError(OperationErrors(contract), n, mean_rank);
  return sum < 0.5 ? sum / (1 - sum) : kInfinity;  // |ln(1 + d)| <= |d| / (1 - |d|)
}

BoundModel ReduceBound(const Problem& problem, const Golden& golden, const Contract& contract) {
  const ReduceArgs op(problem);
  const DType in = problem.inputs[0].dtype, out = problem.outputs[0].dtype;
  if (ReducesIntegers(problem)) return OutputBound(contract, out);
  if (IsSelection(op.kind)) return SelectionBound(op, golden, contract, IsInt(in));
  BoundModel bound;
  const auto terms = static_cast<double>(op.terms);
  switch (op.kind) {
    case ReduceKind::kMean:
      bound = MeanBound(op, golden, contract, in, out);
      break;
    case ReduceKind::kL2:
      bound = L2Bound(op, golden, contract, out);
      break;
    case ReduceKind::kProd:
      bound = ProdBound(op, golden, contract, out);
      break;
    case ReduceKind::kLogSumExp:
      bound = LogSumExpBound(op, golden, contract, in, out);
      break;
    default:
      bound = SumBound(golden, contract, out,
                       {.terms = terms,
                        .height = PathRoundings(contract, terms, false, in),
                        .products = false,
                        .squares_known = true,
                        .type_a = in});
  }
  AdmitOperandOverflow(bound, golden, contract, in);
  if (op.kind != ReduceKind::kSum && op.kind != ReduceKind::kMean) {
    CompleteStatistic(terms, op.kind == ReduceKind::kL2, in, golden, contract, bound);
    bound.statistic.last_terms = op.kind != ReduceKind::kLogSumExp;  // which adds maximum and logarithm
  }
  return bound;
}

}  // namespace assay
