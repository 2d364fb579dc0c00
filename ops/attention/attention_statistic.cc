// SPDX-License-Identifier: Apache-2.0
// How errors of a correct attention are distributed (harness/judge/statistic/README.md). golden.sigma has the sums. A
// relative error e_j of key j's weight, of its score or of its exponential, moves o by p_j (v_j - o) e_j: those of
// different keys are independent and join in quadrature. With s = sqrt(sum p^2 max(v^2, (v - o)^2)), "shift_weight":
// - Scores err like sums of d products, then by up to eight roundings of their own (see dot_ and added_ of
//   attention_bound.cc). Of a sum in any random order E is at most d (score^2 / 3 + Q) (golden/sigma.md), where Q, the
//   sum of the squared products, is at most sqrt(sum q^4 sum k^4): the row's largest one counts for all keys. It is
//   never more than d S^2 either, of the row's largest S times s, or where few keys have large scores, summed over the
//   keys.
// - An exponential, a tanh, and the division of a probability before it meets v err by up to math ulp, eps, in any
//   direction: eps / sqrt(3) each. So does the rescaling at a new maximum, of which a row has about log2 of its blocks;
//   it is the same for all keys before it, above and below the line.
// - What all keys have in common cancels, but for the one division at the end: eps |o|, systematic.
// - Units that share the keys: attention_units.h.
// - A subnormal element of q or k that is flushed takes its product from the score, D <= |scale| d N max(|q|, |k|) with
//   the smallest normal number N of the operands, and moves o by expm1(2 D) times the range of the values, systematic.
//   It matters where the other factor is nearly the largest number.
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

#include "harness/core/base/parallel.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_units.h"
#include "ops/exp_error.h"

namespace assay {
namespace {

constexpr double kMostScoreError = 0.25;
constexpr double kShortAccumulator = 0x1p-20;

// sqrt(h) of short sums, panels of 64 in longer ones; as in SumBound, (S + |y|) / 2 <= S.
double StepsOf(double d) {
  return std::max(1.0, std::min(std::sqrt(d), 64 / std::sqrt(d)));
}

// The largest error of a score that weighs anything.
class ScoreErrors {
 public:
  ScoreErrors(const AttentionArgs& op, const Golden& golden, double u, double u_mid)
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

// Deviation of an element, in units of v, caused by weights in the accumulator's own format.
class WeightErrors {
 public:
  WeightErrors(const AttentionArgs& op, const Golden& golden, const OperationErrors& e, double u)
      : rows_(*golden.Extra("rows")), dot_(*golden.Extra("dot_weight")), added_(*golden.Extra("added_weight")) {
    const auto d = static_cast<double>(op.d);
    of_dot_ = kRoundingDeviation * u * StepsOf(d);
    of_added_ = kRoundingDeviation * u * std::sqrt(8.0);
    of_products_ = kRoundingDeviation * u * std::sqrt(d);
    of_moved_ = of_products_ / std::sqrt(6.0);
    const double function = e.eps / std::sqrt(3.0);
    const double blocks = std::ceil(static_cast<double>(op.s) / kSmallestKeyBlock);
    of_weight_ = function * std::sqrt(2 + std::log2(blocks));
    if (op.softcap > 0) of_cap_ = function / std::sqrt(2.0);
  }
  // Deviations of a row's scores, by their size and by their products.
  struct Row {
    double largest = 0, random = 0;
  };
  Row Of(int64_t row) const {
    const auto fact = [&](RowFact f) { return rows_[row * kRowFacts + f]; };
    const double added = of_added_ * fact(kAddedMax);
    return {Norm(of_dot_ * fact(kDotMax), added), Norm(of_products_ * fact(kProducts), added)};
  }
  void SetRow(const Row& row, RowDeviation& of) const {
    of.largest = row.largest, of.random = row.random, of.of_moved = of_moved_, of.of_dot = of_dot_;
    of.of_added = of_added_, of.of_weight = of_weight_, of.of_cap = of_cap_;
  }
  double At(int64_t i, const Row& row, double shift, double move) const {
    const double random = Norm(row.random * shift, of_moved_ * move);
    const double linear = of_dot_ * dot_[i] + of_added_ * added_[i];
    return Norm(std::min({row.largest * shift, random, linear}), of_weight_ * shift, of_cap_ * move);
  }

 private:
  const Plane &rows_, &dot_, &added_;
  double of_dot_ = 0, of_added_ = 0, of_products_ = 0, of_moved_ = 0, of_weight_ = 0, of_cap_ = 0;
};

// Adds the deviation and the systematic error that a row's scores cause. `flushed` is the largest score that a flushed
// operand takes away, per unit of the other one.
void AddScoreErrors(const AttentionArgs& op, const Golden& golden, const OperationErrors& e, double u, double flushed,
                    BoundModel& bound) {
  const double u_mid = e.mid;
  const ScoreErrors errors(op, golden, u, u_mid);
  const WeightErrors weights(op, golden, e, u);
  const UnitDeviation units(op, golden, e, u);
  const Plane &shift = *golden.Extra("shift_weight"), &move = *golden.Extra("move_weight");
  const Plane &dot = *golden.Extra("dot_weight"), &added = *golden.Extra("added_weight");
  const Plane &range = *golden.Extra("range"), &rows = *golden.Extra("rows");
  const bool wide = golden.magnitude.wide();
  const auto deviation = std::make_shared<Plane>(golden.size(), wide);
  const auto systematic = std::make_shared<Plane>(golden.size(), wide);
  ParallelFor(op.Rows(), kRowsOfBound, [&](int64_t begin, int64_t end) {
    RowPlanes read({&shift, &move, &dot, &added, &range}, op.dv);
    std::vector<double> deviations(static_cast<size_t>(op.dv)), systematics(deviations.size());
    for (int64_t row = begin; row < end; ++row) {
      const bool small = errors.IsSmall(row);
      const double grown = small ? std::exp(2 * errors.At(row)) : 1;
      const double squares = kRoundingDeviation * kRoundingDeviation * u_mid * errors.Stored(row);
      const double lost = std::expm1(std::min(2 * flushed * rows[row * kRowFacts + kLargest], 1.0));  // beyond: all
      const WeightErrors::Row of_row = weights.Of(row);
      const double stored_by = u_mid > 0 ? kRoundingDeviation * u_mid : 0;
      RowDeviation all{.stored = stored_by, .grown = grown, .small = small, .squares = squares};
      all.lost = std::min(lost, 1.0);
      weights.SetRow(of_row, all), units.SetRow(row, all);
      read.Read(row);
      const DeviationColumns columns{read[0], read[1], read[2], read[3], read[4], golden.value.data() + row * op.dv};
      if (FindDeviations(all, columns, op.dv, deviations.data(), systematics.data())) {
        deviation->SetRowUp(row * op.dv, deviations);
        systematic->SetRowUp(row * op.dv, systematics);
        continue;
      }
      for (int64_t i = row * op.dv; i < (row + 1) * op.dv; ++i) {
        const double shifted = shift[i], moved = move[i];
        const double stored = stored_by > 0 ? stored_by * Norm(shifted, moved) : 0;
        const double of_units = units.At(i, row, shifted, moved);
        deviation->SetUp(i, grown * Norm(weights.At(i, of_row, shifted, moved), stored, of_units));
        systematic->SetUp(i, units.Systematic(i, row) + (small ? squares * (dot[i] + added[i]) : range[i]) +
                                 std::min(lost, 1.0) * range[i]);
      }
    }
  });
  bound.statistic.deviations.push_back({deviation.get(), 1});
  bound.owned.push_back(deviation);
  bound.statistic.systematic.push_back({systematic.get(), 1});
  bound.owned.push_back(systematic);
}

}  // namespace

void SetAttentionStatistic(const AttentionArgs& op, const Golden& golden, const Contract& contract, DType in,
                           BoundModel& bound) {
  const OperationErrors e(contract);
  StatisticModel& statistic = bound.statistic;
  statistic.applicable =
      e.in == 0 && contract.acc != Accumulator::kTensorCore && golden.Extra("shift_weight") != nullptr;
  if (!statistic.applicable) return;
  statistic.shared = true;
  statistic.partial_sums = e.mid == 0;
  statistic.sharing = op.dv;
  const auto d = static_cast<double>(op.d), keys = static_cast<double>(op.s);
  const double u = contract.AccUnitRoundoff();
  statistic.stagnates = std::max(d, keys) * u > 0.125;
  const double normal = e.flushes_inputs ? FormatOf(in).MinNormal() : 0;
  AddScoreErrors(op, golden, e, u, std::abs(op.scale) * d * normal, bound);
  statistic.of_value = e.mid + e.eps;
  // Short accumulators lose small weights of a row all in one direction (golden/sigma.md).
  if (u > kShortAccumulator) statistic.deviations.push_back({&golden.magnitude, u * std::sqrt(keys)});
  statistic.constant = e.lambda * (2 * keys + 4) + normal;  // v may be flushed too
  if (e.mid_abs > 0) statistic.systematic.push_back({golden.Extra("values"), e.mid_abs});
}

}  // namespace assay
