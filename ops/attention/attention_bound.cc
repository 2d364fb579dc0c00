// SPDX-License-Identifier: Apache-2.0
// The hard bound of attention, rigorous. With weights w_j = p_j exp(e_j), |e_j| <= d_j = a dot_j + b
// added_j, the exact result of the perturbed weights is off by at most
//   sum p_j |v_j - o| |exp(e_j) - 1| / sum w_j  <=  exp(max d) sum p_j |v_j - o| d_j / (1 - sum p_j d_j)
// over keys with t_j >= -kTail; the others weigh at most exp(-kTail / 2) each as long as d_j <= |t_j| / 2. It is never
// more than max |v_j - o|, because the weights, whatever they are, sum to one. On top come roundings of the
// probabilities, of both sums and of the final division, relative to sum w |v|.
// A q or k that the contract's input class rounds to infinity makes scores infinite, of either sign, or NaN: the row is
// NaN, or its weights are whatever is left of them, none at all included. Of a v so rounded see attention_overflow.cc.
// The weights of a row whose scores or exponentials leave the accumulator's range are unknown as well (HasAnyWeights).
// A mask of the most negative number makes all scores -inf as soon as log2 e multiplies them, which is a row without
// keys (IsSunkByMask). Holds for any order and any split of the keys, for P normalised before or after PV, exp or exp2
// with a rounded factor log2 e, and blocks of at least kBlock keys, each rescaling the running sums once: the smallest
// key tile of published kernels. Units that share the keys may be joined by log-sums: attention_units.h.
#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_bound_row.h"
#include "ops/attention/attention_units.h"
#include "ops/exp_error.h"

namespace assay {
namespace {

constexpr double kBlock = 16;
// Merges of partial results if keys were split over units. Units joined by log-sums have two operations instead, the
// unit's own division and its weight. A unit without keys merges exactly: exp(0) is 1, and if it were not, weights and
// their sum would share the factor.
constexpr double kMerges = 4;
constexpr double kLog2E = 1.4427;  // scores in units of ln 2 are that much larger
constexpr double kSeldom = 256;    // kernels that rescale seldom do when exponentials have grown by this factor

// Whether the scale and its root, by which q and k may be scaled apart, are powers of two.
bool ScalesExactly(double scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5 && exponent % 2 != 0;
}

class Bounder {
  struct RowErrors;

 public:
  Bounder(const AttentionArgs& op, const Contract& contract, DType in, const Golden& golden)
      : op_(op), e_(contract), join_(e_) {
    const Plane& rows = *golden.Extra("rows");
    hidden_reach_ = golden.Extra("hidden_reach");
    range_ = golden.Extra("range"), values_ = golden.Extra("values");
    dots_ = golden.Extra("dot_weight"), added_weights_ = golden.Extra("added_weight");
    masked_any_ = contract.masked == MaskedRows::kAny;
    const auto d = static_cast<double>(op.d), keys = static_cast<double>(op.s);
    const double inputs = Join(e_.in, e_.in);
    const bool adds_mask = op.mask == MaskKind::kAdd, caps = op.softcap > 0;
    // The dot product of d terms, of q and k that were scaled apart. A running maximum m may be multiplied by log2 e
    // apart from the scores: a rounding of each product, |m| <= dot + |t|, and |score| <= |m| + |t|. Softcap's
    // division, tanh and product; an added mask's sum and its own product. What scores and maximum have in common is
    // relative to t alone: the two factors that q and k are scaled by, where neither softcap nor mask comes between,
    // and log2 e.
    const double factors = ScalesExactly(op.scale) ? 0 : 2, stored = adds_mask ? 2 : 1;
    const double of_scores = (caps ? 2 : 0) + (adds_mask ? 2 : 0) + (caps || adds_mask ? factors : 0);
    const double operations = std::expm1(of_scores * std::log1p(e_.u) + stored * std::log1p(e_.mid));
    dot_ = Join(Join(Gamma(d + factors, e_.u), inputs), operations);
    if (caps) dot_ = Join(dot_, e_.eps);
    const double joins = keys > 1 ? 1 : 0;  // one key is not split
    scores_ = Join(dot_, std::expm1((2 + LogSumErrors::kOfScore * joins) * std::log1p(e_.u))) - dot_;
    dot_ += scores_;
    // t = s - m, log2 e, its product with t or what that with m leaves to t; the two factors, or mask and its product.
    added_ = std::expm1(((adds_mask ? 6 : 3 + factors) + LogSumErrors::kOfAdded * joins) * std::log1p(e_.u) +
                        stored * std::log1p(e_.mid));
    if (adds_mask) added_ = Join(added_, e_.in);
    lost_score_ = (2 * d + 4) * e_.lambda * std::max(1.0, std::abs(op.scale)) + e_.mid_abs;
    in_normal_ = e_.flushes_inputs ? FormatOf(in).MinNormal() : 0;
    operand_overflow_ = OperandOverflow(contract, in);
    // Where q or k is scaled instead of the scores, by log2 e too.
    largest_operand_ = contract.AccMaxFinite() / std::max(1.0, std::abs(op.scale) * kLog2E);

    largest_ = contract.AccMaxFinite();
    inputs_ = inputs;
    ending_ = Join(e_.eps, e_.u);
    lost_weight_ = 2 * e_.lambda + e_.mid_abs;
    most_exponent_ = std::log(std::min(contract.AccMaxFinite() / keys, 1 / contract.AccMinNormal()));
    const Plane* live = contract.acc == Accumulator::kF64 ? nullptr : golden.Extra("live_keys");
    for (int64_t row = 0; row < op.Rows(); ++row) {
      const double seen = op.CountKeys(row);
      of_rows_.push_back(ErrorsOf(rows, row, live == nullptr ? seen : std::clamp((*live)[row], 1.0, seen)));
    }
  }

  // Whether the row may be NaN because an operand of its scores overflows, or a score that is hidden.
  bool MayBeNan(const Plane& rows, int64_t row) const { return rows[row * kRowFacts + kLargest] >= operand_overflow_; }
  bool MayHideNan(int64_t row) const {
    return hidden_reach_ != nullptr && (*hidden_reach_)[row] * kLog2E * (1 + dot_) >= e_.range;
  }

  // Whether scores or exponentials of the row may overflow, or all of the latter vanish: the result is NaN, infinite
  // where sums are, or has whatever weights are left, none at all included.
  bool HasAnyWeights(const Plane& rows, int64_t row) const {
    const int64_t first = row * kRowFacts;
    const auto fact = [&](RowFact f) { return rows[first + f]; };
    if (fact(kCertain) >= 1) return false;
    return fact(kReach) * kLog2E * (1 + dot_) >= e_.range || fact(kSunk) * kLog2E * (1 + added_) >= e_.range ||
           2 * e_.u * fact(kStored) >= most_exponent_ || fact(kLargest) > largest_operand_;
  }

  // Whether the mask alone makes all scores -inf as soon as log2 e multiplies them: kernels that have zero for a row
  // without keys divide by no sum of zero here either.
  bool IsSunkByMask(const Plane& rows, int64_t row) const {
    const int64_t first = row * kRowFacts;
    const auto fact = [&](RowFact f) { return rows[first + f]; };
    return op_.mask == MaskKind::kAdd && fact(kSunk) * kLog2E * (1 - added_) >= e_.range &&
           fact(kReach) * kLog2E * (1 + dot_) < e_.range && 2 * e_.u * fact(kReach) < most_exponent_ &&
           fact(kLargest) <= largest_operand_;
  }

  // The sum of |v| over the keys from which on sums of exp(score - largest score so far) v may overflow before they are
  // divided; infinity where none does. A key alone weighs 1; an exponential is at most exp(distance of the scores), and
  // at most kSeldom where kernels rescale seldom.
  double OverflowingSum(const Plane& rows, int64_t row) const {
    const auto fact = [&](RowFact f) { return rows[row * kRowFacts + f]; };
    if (fact(kCertain) >= 1 || fact(kMasked) >= 1) return kInfinity;
    const double distance = fact(kAddedTail) > 0 ? kTail : fact(kAddedMax);
    const double most = op_.CountKeys(row) == 1 ? 1 : std::min(kSeldom, std::exp(distance));
    return largest_ / (most * (1 + of_rows_[static_cast<size_t>(row)].numerator));
  }
  bool SumsMayOverflow(const Golden& golden, int64_t i, double keys, double overflowing) const {
    const double y = golden.value[static_cast<size_t>(i)];
    const double size = (std::isfinite(y) ? std::fabs(y) : 0) + (*range_)[i];
    return !std::isnan(y) && std::min((*values_)[i], keys * size) > overflowing;
  }

  // Values that the elements of a row share.
  struct OfRow {
    std::optional<double> all;  // A of each of them
    bool any_weights = false, known = false, tame = false;
    double lost = 0, inflation = kInfinity, tail = 0, stored = 0;
    const RowErrors* errors = nullptr;
  };
  OfRow Of(const Plane& rows, int64_t row) const {
    const auto fact = [&](RowFact f) { return rows[row * kRowFacts + f]; };
    OfRow of;
    const bool masked = fact(kMasked) >= 1;
    of.errors = &of_rows_[static_cast<size_t>(row)];
    of.any_weights = HasAnyWeights(rows, row);
    if (fact(kCertain) >= 1) {
      of.all = 0;
    } else if (masked && masked_any_) {
      of.all = kInfinity;
    } else if (masked && !of.any_weights) {
      of.all = 0;
    } else if (!of.any_weights && !(of.errors->sums < kInfinity)) {
      of.all = kInfinity;
    }
    if (of.all || of.any_weights) return of;
    const double lost_operand = std::abs(op_.scale) * in_normal_ + e_.lambda;  // also of one that is scaled
    of.lost = lost_score_ + static_cast<double>(op_.d) * lost_operand * fact(kLargest);
    const double of_all_keys = of.lost + of.errors->log_weight;
    const double mean = dot_ * fact(kDotMean) + added_ * fact(kAddedMean) + of_all_keys;
    const double largest = dot_ * fact(kDotMax) + added_ * fact(kAddedMax) + of_all_keys;
    of.known = !MayBeNan(rows, row);
    of.tame = of.known && mean < 0.5 && dot_ * fact(kDotTail) + added_ * fact(kAddedTail) + of_all_keys / kTail <= 0.5;
    of.stored = fact(kStored);
    if (!of.tame) return of;
    of.inflation = std::exp(largest) / (1 - mean);
    of.tail = static_cast<double>(op_.s) * 2 * std::exp(-kTail / 2);
    return of;
  }

  // A of the elements of a row. `read`: that row of the planes in PlanesOfRow.
  void At(const Golden& golden, const OfRow& row, int64_t first, const RowPlanes& read, std::span<double> a) const {
    for (int64_t c = 0; c < op_.dv && (row.all || row.any_weights); ++c) {
      a[c] = row.all ? *row.all : OfAnyWeights(golden, first + c, *row.errors);
    }
    if (row.all || row.any_weights) return;
    const RowErrors& e = *row.errors;
    const double keys = static_cast<double>(op_.s);
    const RowBound of{.known = row.known,
                      .linear = row.tame && row.inflation < kInfinity,
                      .inflation = row.inflation,
                      .grown = row.tame ? row.inflation + row.tail : row.inflation,
                      .tail = row.tail,
                      .stored = row.stored,
                      .dot = dot_ - scores_,
                      .scores = scores_,
                      .added = added_,
                      .log_weight = e.log_weight,
                      .lost = 2 * row.lost,
                      .keys = keys,
                      .lost_weight = lost_weight_,
                      .constant = e_.lambda * (2 * keys + 4),
                      .flushed = 2 * in_normal_,
                      .of_magnitude = e.numerator * (1 + e.ending),
                      .of_size = e.denominator + e.ending,
                      .per_total = 1 - e.denominator,
                      .ending = 1 + e.ending,
                      .sums = 1 + std::min(e.sums, 1.0)};
    FindBounds(of, {golden.value.data() + first, read[0], read[1], read[2], read[3], read[4]}, op_.dv, a.data());
  }
  RowPlanes PlanesOfRow(const Golden& golden) const {
    return RowPlanes({range_, values_, &golden.magnitude, dots_, added_weights_}, op_.dv);
  }

 private:
  // Relative errors of a row's sums: of the numerator to sum w |v|, of the denominator, and of both with their
  // division. log_weight and log_all are the cost of log-sums of units: of a key's weight, and of all in common.
  struct RowErrors {
    double numerator = 0, denominator = 0, ending = 0, sums = 0, log_weight = 0, log_all = 0;
  };

  // The path of a key has its product with v and an addition for each other one of these keys, a product and an
  // exponential for each later block with a larger score and each merge. Keys that are hidden, or whose exponential is
  // zero, add zeros, and where the maximum stays the factor is exp(0) = 1. A key alone has one exponential, above and
  // below the line.
  RowErrors ErrorsOf(const Plane& rows, int64_t row, double keys) const {
    const auto fact = [&](RowFact f) { return rows[row * kRowFacts + f]; };
    const double seen = op_.CountKeys(row), all_blocks = std::ceil(static_cast<double>(op_.s) / kBlock);
    const double blocks = std::min({all_blocks, std::floor((seen + kBlock - 2) / kBlock) + 1, keys});
    const double rescales = blocks - 1 + std::min(kMerges, keys - 1);
    const bool alone = keys == 1;
    const double steps =
        alone ? 0 : std::expm1((keys + rescales + 1) * std::log1p(e_.u) + (1 + rescales) * std::log1p(e_.eps));
    RowErrors errors;
    errors.numerator = Join(Join(Join(steps, e_.u), e_.mid), inputs_);
    errors.denominator = alone ? e_.mid : Join(Join(steps, e_.u), e_.mid);
    const double largest = fact(kStored) * (1 + added_) + dot_ * fact(kDotMax);
    errors.log_weight = join_.OfWeight(keys);
    errors.log_all = join_.OfAll(keys, largest);
    // A division ends it, or the log-sum of all; of a unit that has one key, two divisions.
    errors.ending = std::max(alone && seen > 1 ? Join(ending_, ending_) : ending_, errors.log_all);
    errors.sums = errors.denominator < 1 ? (1 + errors.numerator) * (1 + errors.ending) / (1 - errors.denominator) - 1
                                         : kInfinity;
    return errors;
  }

  // Exponentials that have nearly vanished, and their products with v, are rounded to twice their size at most, each:
  // up to 4 max |v|, and that times the units where they are joined by a log-sum which lost how many they are. A golden
  // value that is not finite comes from scores or values that are not.
  double OfAnyWeights(const Golden& golden, int64_t i, const RowErrors& of_row) const {
    if (!std::isfinite(golden.value[i]) || !(of_row.sums < kInfinity)) return kInfinity;
    const double y = std::fabs(golden.value[i]), most = y + (*range_)[i];
    const double underflow = 2 * (lost_weight_ * most + e_.lambda) * (static_cast<double>(op_.s) + 2) + 2 * in_normal_;
    return (y + (1 + of_row.log_all) * (4 * most * (1 + of_row.sums) + underflow)) * (1 + 0x1p-40);
  }

  const AttentionArgs& op_;
  const OperationErrors e_;
  const LogSumErrors join_;
  const Plane *hidden_reach_ = nullptr, *range_ = nullptr, *values_ = nullptr;
  const Plane *dots_ = nullptr, *added_weights_ = nullptr;
  bool masked_any_ = false;
  double dot_ = 0, added_ = 0;  // a and b
  double scores_ = 0;           // of a, what is relative to scores
  double inputs_ = 0;           // of products, what their rounded operands add
  double ending_ = 0;           // of the final division
  std::vector<RowErrors> of_rows_;
  double lost_score_ = 0, lost_weight_ = 0, in_normal_ = 0;
  double operand_overflow_ = 0, largest_operand_ = 0, largest_ = 0;
  // With exp2, scores and maximum are multiplied by log2 e apart, and their difference, of the largest score zero, errs
  // by 2 u |score|. From here on sums of exponentials overflow, or all of them vanish.
  double most_exponent_ = 0;
};

}  // namespace

BoundModel AttentionBound(const Problem& problem, const Golden& golden, const Contract& contract) {
  const AttentionArgs op(problem);
  BoundModel bound = OutputBound(contract, problem.outputs[0].dtype);
  SetAttentionStatistic(op, golden, contract, problem.inputs[0].dtype, bound);
  const Plane& rows = *golden.Extra("rows");
  const Bounder bounder(op, contract, problem.inputs[0].dtype, golden);
  const auto owned = std::make_shared<Plane>(golden.size(), golden.magnitude.wide());
  ParallelFor(op.Rows(), kRowsOfBound, [&](int64_t begin, int64_t end) {
    RowPlanes read = bounder.PlanesOfRow(golden);
    std::vector<double> a(static_cast<size_t>(op.dv));
    for (int64_t row = begin; row < end; ++row) {
      read.Read(row);
      bounder.At(golden, bounder.Of(rows, row), row * op.dv, read, a);
      owned->SetRowUp(row * op.dv, a);
    }
  });
  // An infinite bound permits any result and has no statistic.
  AdmitWhere(bound, *owned, kInfinity, kAnything);
  for (int64_t row = 0; row < op.Rows(); ++row) {
    const bool may_be_nan = bounder.MayBeNan(rows, row) || bounder.MayHideNan(row);
    const bool hidden = contract.masked == MaskedRows::kZero && bounder.IsSunkByMask(rows, row);
    const bool any_weights = bounder.HasAnyWeights(rows, row) && !hidden;
    const double keys = op.CountKeys(row), overflowing = bounder.OverflowingSum(rows, row);
    for (int64_t i = row * op.dv; i < (row + 1) * op.dv; ++i) {
      if (may_be_nan) Admit(bound, golden.size(), i, kAlsoNan);
      if (any_weights || bounder.SumsMayOverflow(golden, i, keys, overflowing)) {
        Admit(bound, golden.size(), i, kAlsoNan | kAlsoInfinity);
      }
    }
  }
  if (const Plane* nan = golden.Extra("may_be_nan")) {
    AdmitWhere(bound, *nan, 1, kAlsoNan);
    AdmitWhere(bound, *nan, 2, kAlsoInfinity);
  }
  AdmitOperandOverflow(bound, golden, contract, problem.inputs[0].dtype);
  bound.terms.push_back({owned.get(), 1});
  bound.owned.push_back(owned);
  // The error distribution of rows with any weights is unknown.
  std::shared_ptr<Plane> any;
  for (int64_t row = 0; bound.statistic.applicable && row < op.Rows(); ++row) {
    if (!bounder.HasAnyWeights(rows, row)) continue;
    for (int64_t i = row * op.dv; i < (row + 1) * op.dv; ++i) {
      if (!std::isfinite((*owned)[i])) continue;
      if (any == nullptr) any = std::make_shared<Plane>(golden.size(), golden.magnitude.wide());
      any->Set(i, (*owned)[i]);
    }
  }
  if (any == nullptr) return bound;
  bound.statistic.systematic.push_back({any.get(), 2});
  bound.owned.push_back(any);
  return bound;
}

}  // namespace assay
