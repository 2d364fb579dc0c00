// SPDX-License-Identifier: Apache-2.0
// The hard bound of attention (VERDICT.md 2), rigorous. With weights w_j = p_j exp(e_j), |e_j| <= d_j = a dot_j + b
// added_j, the exact result of the perturbed weights is off by at most
//   sum p_j |v_j - o| |exp(e_j) - 1| / sum w_j  <=  exp(max d) sum p_j |v_j - o| d_j / (1 - sum p_j d_j)
// over keys with t_j >= -kTail; the others weigh at most exp(-kTail / 2) each as long as d_j <= |t_j| / 2. It is never
// more than max |v_j - o|, because the weights, whatever they are, sum to one. On top come roundings of the
// probabilities, of both sums and of the final division, relative to sum w |v|.
// A q or k that the contract's input class rounds to infinity makes scores infinite, of either sign, or NaN: the row is
// NaN, or its weights are whatever is left of them, none at all included. Of a v so rounded see attention_overflow.cc.
// So are those of a row whose scores or exponentials leave the accumulator's range (HasAnyWeights): a mask of the most
// negative number makes all scores -inf as soon as log2 e multiplies them.
// Holds for any order and any split of the keys, for P normalised before or after PV, exp or exp2 with a rounded factor
// log2 e, and blocks of at least kBlock keys, each rescaling the running sums once: the smallest key tile of published
// kernels. Units that share the keys may be joined by log-sums: attention_units.h.
#include <algorithm>
#include <cmath>

#include "harness/base/parallel.h"
#include "harness/data/infinity.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_units.h"
#include "ops/exp_error.h"

namespace assay {
namespace {

constexpr double kBlock = 16;
// Of keys that were split over units, by sums; joined by log-sums they have two instead, the unit's own division and
// its weight. One without keys merges exactly: exp(0) is 1, and if it were not, weights and their sum have it in
// common.
constexpr double kMerges = 4;
constexpr double kLog2E = 1.4427;  // scores in units of ln 2 are that much larger

// Whether the scale and its root, by which q and k may be scaled apart, are powers of two.
bool ScalesExactly(double scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5 && exponent % 2 != 0;
}

class Bounder {
 public:
  Bounder(const AttentionCase& op, const Contract& contract, DType in, const Plane& rows)
      : op_(op), e_(contract), join_(e_) {
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

    // On the path of a key: its product with v and an addition for each other key, a product and an exponential for
    // each block after its own and each merge.
    const double rescales = std::ceil(keys / kBlock) - 1 + std::min(kMerges, keys - 1);
    const double steps = std::expm1((keys + rescales + 2) * std::log1p(e_.u) + (1 + rescales) * std::log1p(e_.eps));
    numerator_ = Join(Join(steps, e_.mid), inputs);
    denominator_ = Join(steps, e_.mid);
    ending_ = Join(e_.eps, e_.u);
    sums_ = denominator_ < 1 ? (1 + numerator_) * (1 + ending_) / (1 - denominator_) - 1 : kInfinity;
    lost_weight_ = 2 * e_.lambda + e_.mid_abs;
    most_exponent_ = std::log(std::min(contract.AccMaxFinite() / keys, 1 / contract.AccMinNormal()));
    for (int64_t row = 0; row < op.Rows(); ++row) of_rows_.push_back(LogSumsOf(rows, row));
  }

  // Whether element i may be NaN because an operand of its scores overflows.
  bool MayBeNan(const Plane& rows, int64_t i) const {
    return rows[i / op_.dv * kRowFacts + kLargest] >= operand_overflow_;
  }

  // Whether scores or exponentials of the row may overflow, or all of the latter vanish: the result is NaN, infinite
  // where sums are, or has whatever weights are left, none at all included.
  bool HasAnyWeights(const Plane& rows, int64_t i) const {
    const int64_t first = i / op_.dv * kRowFacts;
    const auto fact = [&](RowFact f) { return rows[first + f]; };
    if (fact(kCertain) >= 1) return false;
    return fact(kReach) * kLog2E * (1 + dot_) >= e_.range || fact(kSunk) * kLog2E * (1 + added_) >= e_.range ||
           2 * e_.u * fact(kStored) >= most_exponent_ || fact(kLargest) > largest_operand_;
  }

  // A of element i; the row's facts from `facts`.
  double At(const Golden& golden, const Plane& rows, int64_t i) const {
    const int64_t first = i / op_.dv * kRowFacts;
    const auto fact = [&](RowFact f) { return rows[first + f]; };
    if (fact(kCertain) >= 1) return 0;
    const bool masked = fact(kMasked) >= 1;
    if (masked && masked_any_) return kInfinity;
    const LogSums& log_sums = of_rows_[static_cast<size_t>(i / op_.dv)];
    if (HasAnyWeights(rows, i)) return OfAnyWeights(golden, i, 1 + log_sums.of_all);
    if (masked) return 0;
    if (!(sums_ < kInfinity)) return kInfinity;

    const double range = (*golden.Extra("range"))[i];
    const double lost = lost_score_ + std::abs(op_.scale) * static_cast<double>(op_.d) * in_normal_ * fact(kLargest);
    const double of_all_keys = lost + log_sums.of_weight;
    const double mean = dot_ * fact(kDotMean) + added_ * fact(kAddedMean) + of_all_keys;
    const double largest = dot_ * fact(kDotMax) + added_ * fact(kAddedMax) + of_all_keys;
    const bool known = !MayBeNan(rows, i);
    const bool tame =
        known && mean < 0.5 && dot_ * fact(kDotTail) + added_ * fact(kAddedTail) + of_all_keys / kTail <= 0.5;
    const double y = std::isfinite(golden.value[i]) ? std::fabs(golden.value[i]) : 0;
    double weights = known ? range : std::max(range, y), inflation = kInfinity;
    if (tame) {
      inflation = std::exp(largest) / (1 - mean);
      const double tail = static_cast<double>(op_.s) * 2 * std::exp(-kTail / 2);
      const double dots = (*golden.Extra("dot_weight"))[i], added = (*golden.Extra("added_weight"))[i];
      const double scores = std::min(dots, fact(kStored) * (golden.magnitude[i] + y));
      const double units = log_sums.of_weight * std::min(range, golden.magnitude[i] + y);
      const double linear = (dot_ - scores_) * dots + scores_ * scores + added_ * added + units + 2 * lost * range;
      if (inflation < kInfinity) weights = std::min(range, inflation * (linear + tail * range));
      inflation += tail;
    }
    // sum w |v|, by the inflated weights or by the largest |v|.
    const double inflated = inflation < kInfinity ? inflation * golden.magnitude[i] + 0x1p-80 * range : kInfinity;
    const double magnitude = std::min(inflated, y + range);  // of finite values: all of them may be zero
    const double keys = static_cast<double>(op_.s);
    // The plane may overflow where the values do not.
    const double values = std::min((*golden.Extra("values"))[i], keys * (y + range));
    const double underflow = lost_weight_ * (values + keys * (y + range)) + e_.lambda * (2 * keys + 4) + 2 * in_normal_;
    // A division ends it, or the log-sum of all.
    const double ending = std::max(ending_, log_sums.of_all);
    return (weights + OfSums(magnitude, std::min(magnitude, y + weights), ending) +
            underflow * (1 + ending) * (1 + std::min(sums_, 1.0))) *
           (1 + 0x1p-40);
  }

 private:
  // Of the quotient o, at most `size`, of sums with these relative errors: (o + n M) (1 + e) / (1 + d) - o, where n is
  // relative to M = sum w |v| and the others to o.
  double OfSums(double magnitude, double size, double ending) const {
    return (numerator_ * (1 + ending) * magnitude + (denominator_ + ending) * size) / (1 - denominator_);
  }

  // What log-sums of a row's units may cost: a key's weight, and all of them in common, relative to each.
  struct LogSums {
    double of_weight = 0, of_all = 0;
  };

  LogSums LogSumsOf(const Plane& rows, int64_t row) const {
    const auto fact = [&](RowFact f) { return rows[row * kRowFacts + f]; };
    const double keys = op_.CountKeys(row), largest = fact(kStored) * (1 + added_) + dot_ * fact(kDotMax);
    return {join_.OfWeight(keys), join_.OfAll(keys, largest)};
  }

  // Exponentials that have nearly vanished, and their products with v, are rounded to twice their size at most, each:
  // up to 4 max |v|, and `units` times that where units are joined by a log-sum which lost how many they are. A golden
  // value that is not finite comes from scores or values that are not.
  double OfAnyWeights(const Golden& golden, int64_t i, double units) const {
    if (!std::isfinite(golden.value[i]) || !(sums_ < kInfinity)) return kInfinity;
    const double y = std::fabs(golden.value[i]), most = y + (*golden.Extra("range"))[i];
    const double underflow = 2 * (lost_weight_ * most + e_.lambda) * (static_cast<double>(op_.s) + 2) + 2 * in_normal_;
    return (y + units * (4 * most * (1 + sums_) + underflow)) * (1 + 0x1p-40);
  }

  const AttentionCase& op_;
  const OperationErrors e_;
  const LogSumErrors join_;
  bool masked_any_ = false;
  double dot_ = 0, added_ = 0;  // a and b
  double scores_ = 0;           // of a, what is relative to scores
  std::vector<LogSums> of_rows_;
  double lost_score_ = 0, lost_weight_ = 0, in_normal_ = 0;
  double operand_overflow_ = 0, largest_operand_ = 0;
  // With exp2, scores and maximum are multiplied by log2 e apart, and their difference, of the largest score zero, errs
  // by 2 u |score|. From here on sums of exponentials overflow, or all of them vanish.
  double most_exponent_ = 0;
  // Relative errors of numerator, denominator and their division; of all together, to sum w |v|.
  double numerator_ = 0, denominator_ = 0, ending_ = 0, sums_ = 0;
};

}  // namespace

BoundModel AttentionBound(const Problem& problem, const Golden& golden, const Contract& contract) {
  const AttentionCase op(problem);
  BoundModel bound = OutputBound(contract, problem.output().dtype);
  // Sums before the division by l, and l itself up to s.
  bound.partial_overflow_at = contract.AccMaxFinite() / (2 * static_cast<double>(op.s));
  SetAttentionStatistic(op, golden, contract, problem.inputs[0].dtype, bound);
  const Plane& rows = *golden.Extra("rows");
  const Bounder bounder(op, contract, problem.inputs[0].dtype, rows);
  const auto owned = std::make_shared<Plane>(golden.size(), golden.magnitude.wide());
  ParallelFor(golden.size(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) owned->SetUp(i, bounder.At(golden, rows, i));
  });
  // Nothing finite or not is promised there, and nothing is known of its distribution.
  AdmitWhere(bound, *owned, kInfinity, kAnything);
  for (int64_t i = 0; i < golden.size(); ++i) {
    if (bounder.MayBeNan(rows, i)) Admit(bound, golden.size(), i, kAlsoNan);
    if (bounder.HasAnyWeights(rows, i)) Admit(bound, golden.size(), i, kAlsoNan | kAlsoInfinity);
  }
  if (const Plane* nan = golden.Extra("may_be_nan")) {
    AdmitWhere(bound, *nan, 1, kAlsoNan);
    AdmitWhere(bound, *nan, 2, kAlsoInfinity);
  }
  AdmitOperandOverflow(bound, golden, contract, problem.inputs[0].dtype);
  bound.terms.push_back({owned.get(), 1});
  bound.owned.push_back(owned);
  // Nothing is known of the distribution of errors of rows with any weights.
  const auto any = std::make_shared<Plane>(golden.size(), golden.magnitude.wide());
  bool some = false;
  for (int64_t i = 0; bound.statistic.applicable && i < golden.size(); ++i) {
    if (!bounder.HasAnyWeights(rows, i) || !std::isfinite((*owned)[i])) continue;
    some = true;
    any->Set(i, (*owned)[i]);
  }
  if (!some) return bound;
  bound.statistic.systematic.push_back({any.get(), 2});
  bound.owned.push_back(any);
  return bound;
}

}  // namespace assay
