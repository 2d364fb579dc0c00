// SPDX-License-Identifier: Apache-2.0
// How one output value is judged. ElementJudge is the reference for single values; the streaming kernel
// (judge_kernel.h) does the same arithmetic for whole tiles of finite values.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "golden/bound/bound.h"
#include "golden/element.h"
#include "golden/golden.h"
#include "harness/core/data/dtype.h"
#include "harness/core/model/contract.h"
#include "harness/judge/own_rounding.h"

namespace assay {

// Covers the roundings of evaluating an error and its bound in double.
inline constexpr double kJudgeSlack = 1 + 0x1p-48;

// Numbers that the judgements of all elements of a tensor share.
struct JudgeParams {
  double constant = 0;     // of the bound
  double coefficient = 0;  // of the single term on the kernel's direct path
  double u_acc = 0;        // turns the sigma plane into a standard deviation
  // The statistic's model of errors (StatisticModel): sigma = max(u_acc sigma, floor (S + |y|)), and the systematic
  // part. The sum of S comes from the bound's single term on the kernel's direct path.
  double sigma_floor = 0;
  double shift = 0, shift_of_value = 0, shift_of_magnitude = 0, shift_of_sigma = 0;
  double lambda_out = 0;   // smallest absolute error of the output's rounding; for the statistic alone
  double overflow_at = 0;  // |y| + A from here on: an infinity is a correct result
  double special_at = 0;   // |y| + A from here on the rules of non-finite values decide; at most overflow_at
  double max_finite = 0;   // of the output
  double ulp_scale = 0;    // ulp(x) = 2^exponent(x) * ulp_scale, at least ulp_floor, at most ulp_ceiling
  double ulp_floor = 0;    // of the subnormals
  double ulp_ceiling = 0;  // of the largest finite numbers
  double round_scale = 0;  // (x + c) - c with c = round_scale * ulp(x) rounds x to the output; 0: x is rounded
  // Largest error of the output's own rounding; for the statistic and weaker arithmetics alone.
  double own_rounding_ulps = 0;
  RoundingReach reach;   // judges a result; zero where `integer`
  bool exact = false;    // the rounded golden value is the only correct one
  bool integer = false;  // nothing is rounded on the way to an output of integers: what is computed is one already
  bool has_infinity = true;
  bool nearest = true;  // the output rounds to nearest
};

struct Judgement {
  bool accepted = false;
  bool finite = false;  // got and golden are both finite
  double error = 0;
  double allowed = 0;   // A, rounded up: what everything before the output's own rounding may cost
  double rounding = 0;  // what that rounding may add to the error of this very result (own_rounding.h)

  double Beyond() const { return std::fabs(error) - rounding; }
  // A finite result is within the bound where |error| is at most this, but for ties of A = 0.
  double Tolerance() const { return allowed + rounding; }
  bool Within() const { return Beyond() <= allowed; }
  // The error without that rounding, as a share of A. Above 1 fails.
  double Margin() const { return Beyond() <= 0 ? 0 : Beyond() / allowed; }
  // Whether a finite result is wrong by its error, not by a rule of non-finite values. Where A is zero, exactly half a
  // gap is right for one neighbour alone, so that an error within the bound can be one.
  bool BreaksBound() const { return finite && !accepted && (!Within() || allowed == 0); }
};

class ElementJudge {
 public:
  ElementJudge(const Golden& golden, const BoundModel& bound, const Contract& contract, DType dtype);

  // `i` counts golden values: two per complex element. `got_lo` is what a double cannot hold of an i64.
  Judgement Judge(int64_t i, double got, double got_lo = 0) const {
    Judgement judged;
    return plain_ && JudgePlainly(i, got, judged) ? judged : JudgeByAllRules(i, got, got_lo);
  }
  // Its `finite` and `error` alone.
  Judgement Compare(int64_t i, double got, double got_lo = 0) const;

  // Whether more than the bound's results may be right (BoundModel::also).
  bool Open(int64_t i) const { return bound_->AlsoAt(i) != 0; }
  // Whether any result is accepted: nothing is promised here, so nothing is tested (power.h counts such elements).
  bool Unbounded(int64_t i) const;
  // Whether nothing, or no more than its sign, is promised.
  bool IsOpen(int64_t i) const;
  // Whether the result, or some legal order of the finite terms on the way to it, may leave the range of finite
  // numbers. False where nothing at all is promised.
  bool MayOverflow(int64_t i) const;
  // Whether neither can be true of any element, by the largest numbers of the planes. False: look at each.
  bool IsBoundedEverywhere() const;
  bool OverflowsNowhere() const;
  // A_i. A change of how it is evaluated has to be made in each place: here, in ReadAccumulated (judge_stretch.cc),
  // JudgePlainly (below) and NarrowLoads::Accumulated (kernel/judge_kernel.cc), which agree in the last bit, and in
  // BoundModel::At (golden/bound/bound.cc), which rounds up.
  double Accumulated(int64_t i) const;
  double Sigma(int64_t i) const;       // standard deviation of the roundings before the output's own, without E_gold
  double Systematic(int64_t i) const;  // largest error that is no random rounding; given Sigma
  // Read these numbers for all elements from `first` on, many times as fast as one by one.
  void ReadAccumulated(int64_t first, std::span<double> accumulated) const;
  void ReadStatistic(int64_t first, std::span<double> sigma, std::span<double> systematic) const;
  // Error beyond the output's own rounding and the systematic part, in standard deviations; 0 where undefined.
  double Deviation(int64_t i, const Judgement& judged) const;
  double Rounded(int64_t i) const;  // the golden value as the output type holds it
  // value + value_lo to odd: rounding it to any format of up to 51 bits gives what rounding the exact sum would.
  double RoundingSource(int64_t i) const;

  const JudgeParams& params() const { return params_; }
  const Golden& golden() const { return *golden_; }
  const BoundModel& bound() const { return *bound_; }
  DType dtype() const { return dtype_; }
  const ValueWhere* Decided(int64_t i) const;  // what a policy of the contract decides of this element, or null

 private:
  Judgement JudgeByAllRules(int64_t i, double got, double got_lo) const;
  // Judges a finite result that its bound alone decides; false if another rule may decide.
  bool JudgePlainly(int64_t i, double got, Judgement& judged) const;
  bool AcceptsSpecial(int64_t i, double got, const Judgement& judged, double accumulated) const;
  bool AcceptsFinite(int64_t i, double got, const Judgement& judged, double accumulated) const;
  double RoundToOutput(double x) const;
  double MostAccumulated() const;  // no A_i is larger

  const Golden* golden_;
  const BoundModel* bound_;
  DType dtype_;
  OutputRounding rounding_;
  bool flushes_;  // results
  JudgeParams params_;
  bool plain_;  // every element has one number in each plane, in one term of the bound, and no policy beside it
};

// Repeats the operations of the kernel, so that both agree in the last bit (ElementJudge::Accumulated).
inline bool ElementJudge::JudgePlainly(int64_t i, double got, Judgement& judged) const {
  const double y = golden_->value[static_cast<size_t>(i)];
  const double accumulated = params_.constant + golden_->error[i] + params_.coefficient * (*bound_->terms[0].plane)[i];
  // NaN is no less than anything.
  if (!(std::fabs(y) + accumulated < params_.special_at) || accumulated == 0 || !std::isfinite(got)) return false;
  judged.finite = true;
  judged.error = got - y;
  judged.allowed = accumulated * kJudgeSlack;
  judged.rounding = params_.reach.Of(got, judged.error);
  judged.accepted = judged.Within();
  return true;
}

}  // namespace assay
