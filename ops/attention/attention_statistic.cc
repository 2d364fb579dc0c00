// SPDX-License-Identifier: Apache-2.0
// How errors of a correct attention are distributed (VERDICT.md 3). Scores err like sums of d products, which
// golden.sigma leaves out, then by up to eight roundings of their own (see dot_ and added_ of attention_bound.cc);
// summed over the keys instead of in quadrature. Exponentials, tanh and the division may be off by their ulp in any
// direction, and of the rescalings about log2 of the blocks meet a new maximum: systematic.
//
// Scores and probabilities kept in a narrower format, with its unit roundoff u:
// - A rounding of p_j moves o by p_j v_j e_j, or, where the same p_j are summed for the division, p_j (v_j - o) e_j;
//   independent ones in quadrature. Those of probabilities that are alike are alike, e_j = e, and move o by e o.
// - A rounding of score s_j by e_j moves o by sum p_j (v_j - o) expm1(e_j) / (1 + sum p_j expm1(e_j)). With a largest
//   error D among the keys that weigh anything, |expm1(e)| <= |e| exp(D), and the denominator is at least exp(-D): the
//   deviation is exp(2 D) times the linear one. expm1 has a mean: at most e^2 / 2 each from numerator and denominator,
//   with E e^2 = 0.425^2 u^2 s^2. Beyond D = kMostScoreError the distribution is no longer of this form; the weights,
//   whatever they are, keep o within the range of the values.
#include <algorithm>
#include <cmath>
#include <memory>

#include "harness/base/parallel.h"
#include "ops/attention/attention.h"
#include "ops/exp_error.h"

namespace assay {
namespace {

constexpr double kSmallestKeyBlock = 16;  // of published kernels
constexpr double kMostScoreError = 0.25;

// sqrt(h) of short sums, panels of 64 in longer ones; as in SumBound, (S + |y|) / 2 <= S.
double StepsOf(double d) {
  return std::max(1.0, std::min(std::sqrt(d), 64 / std::sqrt(d)));
}

// The largest error of a score that weighs anything.
class ScoreErrors {
 public:
  ScoreErrors(const AttentionCase& op, const Golden& golden, double u, double u_mid)
      : rows_(*golden.Extra("rows")), u_mid_(u_mid) {
    of_dot_ = kRoundingDeviation * u * StepsOf(static_cast<double>(op.d));
  }
  double Stored(int64_t row) const { return u_mid_ * rows_[row * kRowFacts + kStored]; }
  bool IsSmall(int64_t row) const { return At(row) <= kMostScoreError; }
  double At(int64_t row) const { return Stored(row) + of_dot_ * rows_[row * kRowFacts + kDotMax]; }

 private:
  const Plane& rows_;
  double u_mid_, of_dot_ = 0;
};

bool AllAreSmall(const AttentionCase& op, const ScoreErrors& errors) {
  for (int64_t row = 0; row < op.Rows(); ++row) {
    if (!errors.IsSmall(row)) return false;
  }
  return true;
}

// What depends on the size of a row's scores: planes of the deviation and of what is systematic.
void AddScoreErrors(const AttentionCase& op, const Golden& golden, double u, double u_mid, BoundModel& bound) {
  const ScoreErrors errors(op, golden, u, u_mid);
  if (u_mid == 0 && AllAreSmall(op, errors)) return;
  const Plane &mid = *golden.Extra("mid_weight"), &range = *golden.Extra("range");
  const Plane &dot = *golden.Extra("dot_weight"), &added = *golden.Extra("added_weight");
  const bool wide = golden.magnitude.wide();
  const auto deviation = std::make_shared<Plane>(golden.size(), wide);
  const auto systematic = std::make_shared<Plane>(golden.size(), wide);
  ParallelFor(golden.size(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / op.dv;
      const bool small = errors.IsSmall(row);
      const double linear = kRoundingDeviation * u_mid * mid[i];
      deviation->SetUp(i, small ? linear * std::exp(2 * errors.At(row)) : linear);
      const double squares = kRoundingDeviation * kRoundingDeviation * u_mid * errors.Stored(row);
      systematic->SetUp(i, small ? squares * (dot[i] + added[i]) : range[i]);
    }
  });
  bound.statistic.deviations.push_back({deviation.get(), 1});
  bound.statistic.systematic.push_back({systematic.get(), 1});
  bound.owned.push_back(deviation);
  bound.owned.push_back(systematic);
}

}  // namespace

void SetAttentionStatistic(const AttentionCase& op, const Golden& golden, const Contract& contract, BoundModel& bound) {
  const OperationErrors e(contract);
  StatisticModel& statistic = bound.statistic;
  statistic.applicable = e.in == 0 && contract.acc != Accumulator::kTensorCore && golden.Extra("mid_weight") != nullptr;
  if (!statistic.applicable) return;
  statistic.shared = true;
  const auto d = static_cast<double>(op.d), keys = static_cast<double>(op.s);
  const double u = contract.AccUnitRoundoff();
  statistic.stagnates = std::max(d, keys) * u > 0.125;
  statistic.deviations.push_back({golden.Extra("dot_weight"), kRoundingDeviation * u * StepsOf(d)});
  statistic.deviations.push_back({golden.Extra("added_weight"), kRoundingDeviation * u * std::sqrt(8.0)});
  AddScoreErrors(op, golden, u, e.mid, bound);
  statistic.of_value = e.mid;
  if (op.softcap > 0) statistic.systematic.push_back({golden.Extra("dot_weight"), e.eps});
  statistic.of_magnitude = e.eps * (3 + std::log2(std::ceil(keys / kSmallestKeyBlock)));
  statistic.constant = e.lambda * (2 * keys + 4);
  if (e.mid_abs > 0) statistic.systematic.push_back({golden.Extra("values"), e.mid_abs});
}

}  // namespace assay
