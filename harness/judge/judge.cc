// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/judge.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "golden/value_range.h"
#include "harness/core/data/infinity.h"

namespace assay {
namespace {

constexpr double kOneAndAHalf = 0x1.8p52;  // x + 1.5 * 2^52 has its last bit at one

// Formats of up to this precision can be rounded to by adding and subtracting a constant.
constexpr int kMagicPrecision = 50;

void SetFormat(const FloatFormat& format, JudgeParams& p) {
  p.max_finite = format.max_finite;
  p.has_infinity = format.has_infinity;
  p.ulp_scale = std::ldexp(1.0, 1 - format.precision);
  p.ulp_floor = format.MinSubnormal();
  p.ulp_ceiling = UlpAt(format, format.max_finite);
  p.round_scale = format.precision <= kMagicPrecision ? kOneAndAHalf : 0;
}

// Integers and selections have one correct result, unless the contract rounds or flushes it on the way out.
bool IsExact(const Golden& golden, const BoundModel& bound, const Contract& contract) {
  return bound.exact || (golden.exact && contract.out == OutputRounding::kNearest && contract.ftz == Flush::kNone);
}

bool FlushesOutput(const Contract& contract) {
  return contract.ftz == Flush::kOut || contract.ftz == Flush::kAll;
}

void SetStatistic(const StatisticModel& statistic, JudgeParams& p) {
  p.sigma_floor = statistic.floor;
  p.shift = statistic.constant;
  p.shift_of_value = statistic.of_value;
  p.shift_of_magnitude = statistic.of_magnitude;
  p.shift_of_sigma = statistic.of_sigma;
}

JudgeParams MakeParams(const Golden& golden, const BoundModel& bound, const Contract& contract, DType dtype) {
  JudgeParams p;
  const bool to_integers = IsInt(dtype) && !bound.exact && bound.lambda_out > 0;
  p.integer = IsInt(dtype) && !to_integers;
  p.exact = p.integer ? bound.exact : IsExact(golden, bound, contract);
  p.nearest = contract.RoundsToNearest() || p.exact;
  p.own_rounding_ulps = p.nearest ? 0.5 : 1;
  p.u_acc = contract.AccUnitRoundoff() * bound.statistic.sigma_scale;
  p.overflow_at = kInfinity;
  if (IsInt(dtype)) {
    p.ulp_floor = p.ulp_ceiling = 1;
    p.max_finite = kInfinity;
    p.round_scale = to_integers ? kOneAndAHalf : 0;
    if (to_integers) p.reach = ReachOfIntegers(contract.out);
  } else {
    SetFormat(FormatOf(dtype), p);
    p.overflow_at = FormatOf(dtype).OverflowThreshold();
    p.reach = ReachOf(FormatOf(dtype), p.nearest ? OutputRounding::kNearest : contract.out, FlushesOutput(contract));
  }
  if (!p.exact) {
    p.constant = bound.constant;
    p.coefficient = bound.terms.size() == 1 ? bound.terms[0].coefficient : 0;
    p.lambda_out = bound.lambda_out;
    if (bound.overflow_at > 0) p.overflow_at = bound.overflow_at;
  }
  SetStatistic(bound.statistic, p);
  p.special_at = p.nearest ? p.overflow_at : std::min(p.overflow_at, p.max_finite);
  return p;
}

bool IsPlain(const Golden& golden, const BoundModel& bound, const JudgeParams& p, DType dtype) {
  if (p.exact || IsInt(dtype) || bound.terms.size() != 1 || !bound.also.empty() || !bound.value_where.empty())
    return false;
  const double coefficient = bound.terms[0].coefficient;
  return golden.value_lo.empty() && std::isfinite(coefficient) && coefficient != 0 &&
         golden.error.size() == golden.size() && bound.terms[0].plane->size() == golden.size();
}

// Numbers that are not negative have the order of their bits, with infinity behind them and NaN last. Integers have a
// largest one in any order, so that the compiler may take many at a time.
template <class Bits, class Number>
double LargestOf(std::span<const Number> numbers) {
  Bits largest = 0;
  for (const Number x : numbers) largest = std::max(largest, std::bit_cast<Bits>(std::fabs(x)));
  const auto number = std::bit_cast<Number>(largest);
  return std::isnan(number) ? kInfinity : static_cast<double>(number);
}

// Infinity where a NaN is among them.
double LargestOf(const Plane& plane) {
  return plane.wide() ? LargestOf<int64_t>(plane.f64()) : LargestOf<int32_t>(plane.f32());
}

}  // namespace

ElementJudge::ElementJudge(const Golden& golden, const BoundModel& bound, const Contract& contract, DType dtype)
    : golden_(&golden),
      bound_(&bound),
      dtype_(dtype),
      rounding_(contract.out),
      flushes_(FlushesOutput(contract)),
      params_(MakeParams(golden, bound, contract, dtype)),
      plain_(IsPlain(golden, bound, params_, dtype)) {}

// judge.h lists the other places that evaluate A.
double ElementJudge::Accumulated(int64_t i) const {
  if (params_.exact) return 0;
  double sum = params_.constant + PlaneAt(golden_->error, i, golden_->size());
  for (const BoundTerm& term : bound_->terms) {
    const double plane = PlaneAt(*term.plane, i, golden_->size());
    // Zero times infinity is zero here: no term, or no weight.
    if (plane != 0 && term.coefficient != 0) sum += term.coefficient * plane;
  }
  return sum;
}

bool ElementJudge::Unbounded(int64_t i) const {
  if (bound_->IsFree(i)) return true;
  if (params_.exact) return false;
  if (PlaneAt(golden_->error, i, golden_->size()) == kInfinity) return true;  // the golden value itself is unknown
  return std::isfinite(golden_->value[i]) && Accumulated(i) == kInfinity;
}

bool ElementJudge::IsOpen(int64_t i) const {
  return Unbounded(i) || (bound_->AlsoAt(i) & kAlsoSignedFinite) != 0;
}

bool ElementJudge::MayOverflow(int64_t i) const {
  const double y = golden_->value[i];
  if (params_.exact || !std::isfinite(y) || Unbounded(i)) return false;
  return PartialOverflowAt(*bound_, *golden_, i).Any() || std::fabs(y) + Accumulated(i) >= params_.overflow_at;
}

// Rounded sums of non-negative numbers grow with each of them.
double ElementJudge::MostAccumulated() const {
  if (params_.exact) return 0;
  double sum = params_.constant + LargestOf(golden_->error);
  for (const BoundTerm& term : bound_->terms) {
    if (term.coefficient < 0) return kInfinity;
    const double largest = LargestOf(*term.plane);
    if (largest != 0 && term.coefficient != 0) sum += term.coefficient * largest;
  }
  return sum;
}

bool ElementJudge::IsBoundedEverywhere() const {
  return bound_->also.empty() && MostAccumulated() < kInfinity;
}

bool ElementJudge::OverflowsNowhere() const {
  if (params_.exact) return true;
  const ValueRange values = RangeOf(golden_->value.data(), golden_->size());
  return values.all_finite && values.max_abs + MostAccumulated() < params_.overflow_at &&
         bound_->growth * LargestOf(golden_->magnitude) < bound_->partial_overflow_at;
}

double ElementJudge::Sigma(int64_t i) const {
  const int64_t values = golden_->size();
  double sigma = params_.u_acc * PlaneAt(golden_->sigma, i, values);
  if (params_.sigma_floor > 0) {
    const double reach = PlaneAt(golden_->magnitude, i, values) + std::fabs(golden_->value[i]);
    sigma = std::max(sigma, params_.sigma_floor * reach);
  }
  const std::vector<BoundTerm>& others = bound_->statistic.deviations;
  if (others.empty()) return sigma;
  double variance = sigma * sigma;
  for (const BoundTerm& term : others) {
    const double deviation = term.coefficient * PlaneAt(*term.plane, i, values);
    variance += deviation * deviation;
  }
  return std::sqrt(variance);
}

double ElementJudge::Systematic(int64_t i) const {
  const int64_t values = golden_->size();
  double shift = params_.shift + params_.shift_of_value * std::fabs(golden_->value[i]);
  if (params_.shift_of_magnitude > 0) shift += params_.shift_of_magnitude * PlaneAt(golden_->magnitude, i, values);
  if (params_.shift_of_sigma > 0) shift += params_.shift_of_sigma * Sigma(i);
  for (const BoundTerm& term : bound_->statistic.systematic) {
    const double plane = PlaneAt(*term.plane, i, values);
    if (plane != 0 && term.coefficient != 0) shift += term.coefficient * plane;
  }
  return shift;
}

double ElementJudge::Deviation(int64_t i, const Judgement& judged) const {
  if (!judged.finite || params_.integer) return 0;
  const double beyond = judged.Beyond() - Systematic(i);
  if (!(beyond > 0)) return 0;
  const double scale = std::hypot(Sigma(i), PlaneAt(golden_->error, i, golden_->size()));
  return scale > 0 ? beyond / scale : 0;
}

double ElementJudge::RoundingSource(int64_t i) const {
  const double value = golden_->value[i];
  const double lo = golden_->value_lo.empty() ? 0 : golden_->value_lo[i];
  if (lo == 0 || value == 0 || !std::isfinite(value) || params_.round_scale == 0) return value;
  const bool odd = (std::bit_cast<uint64_t>(value) & 1) != 0;
  return odd ? value : std::nextafter(value, lo > 0 ? kInfinity : -kInfinity);
}

double ElementJudge::RoundToOutput(double x) const {
  if (params_.integer) return x;
  return IsInt(dtype_) ? std::nearbyint(x) : RoundTo(FormatOf(dtype_), x);
}

double ElementJudge::Rounded(int64_t i) const {
  return RoundToOutput(RoundingSource(i));
}

const ValueWhere* ElementJudge::Decided(int64_t i) const {
  for (const ValueWhere& where : bound_->value_where) {
    if (!(PlaneAt(*where.plane, i, golden_->size()) < where.at)) return &where;
  }
  return nullptr;
}

Judgement ElementJudge::Compare(int64_t i, double got, double got_lo) const {
  if (Decided(i) != nullptr) return {};
  const double y = golden_->value[i];
  const double lo = golden_->value_lo.empty() ? 0 : golden_->value_lo[i];
  return {.finite = std::isfinite(got) && std::isfinite(y), .error = (got - y) - (lo - got_lo)};
}

Judgement ElementJudge::JudgeByAllRules(int64_t i, double got, double got_lo) const {
  if (const ValueWhere* decided = Decided(i)) return {.accepted = got == decided->value};
  const double y = golden_->value[i];
  const double accumulated = Accumulated(i);
  Judgement judged = Compare(i, got, got_lo);
  if (!params_.exact) {
    judged.allowed = accumulated * kJudgeSlack;
    if (judged.finite) judged.rounding = params_.reach.Of(got, judged.error);
  }
  if (bound_->IsAlsoRight(i, dtype_, y, got)) {
    judged.accepted = true;
  } else if (params_.integer && params_.exact) {
    judged.accepted = judged.error == 0;
  } else if (!judged.finite || !(std::fabs(y) + accumulated < params_.special_at)) {
    judged.accepted = AcceptsSpecial(i, got, judged, accumulated);
  } else {
    judged.accepted = params_.exact ? got == Rounded(i) : AcceptsFinite(i, got, judged, accumulated);
  }
  return judged;
}

// Some real in y +- A rounds to got. Where A is zero that is y itself, which breaks ties.
bool ElementJudge::AcceptsFinite(int64_t i, double got, const Judgement& judged, double accumulated) const {
  if (accumulated != 0 || params_.integer) return judged.Within();
  if (IsInt(dtype_)) return IsIntegerOf(rounding_, RoundingSource(i), got);
  const bool held = params_.round_scale != 0 || golden_->value_lo.empty();  // by the source
  const double rest = held ? 0 : golden_->value_lo[i];
  return IsRoundingOf(FormatOf(dtype_), rounding_, flushes_, RoundingSource(i), rest, got);
}

// Elements where infinities and NaN may be right, or where a finite result may be wrong for being finite.
bool ElementJudge::AcceptsSpecial(int64_t i, double got, const Judgement& judged, double accumulated) const {
  const JudgeParams& p = params_;
  const double y = golden_->value[i];
  if (Unbounded(i)) return true;
  if (std::isnan(y)) return std::isnan(got);  // whatever the bound of the finite terms
  if (std::isinf(y) && got == y) return true;
  if (p.exact) {
    const double rounded = Rounded(i);
    return got == rounded || (std::isnan(got) && std::isnan(rounded));
  }
  const double magnitude = PlaneAt(golden_->magnitude, i, golden_->size());
  // An infinite term leaves nothing finite, and its opposite only as NaN, whatever the bound of the finite terms; with
  // an infinite magnitude the golden says that the sign is the algorithm's (a transform of an infinity).
  if (accumulated == kInfinity) {
    return got == y || std::isnan(got) || (magnitude == kInfinity && std::isinf(y) && std::isinf(got));
  }
  const PartialOverflow partial = PartialOverflowAt(*bound_, *golden_, i);
  if (std::isnan(got)) {
    // Infinities of both signs meet; a format without infinities overflows to NaN.
    const bool own = rounding_ != OutputRounding::kTowardZero && std::fabs(y) + accumulated >= p.overflow_at;
    const bool overflows = partial.Any() || own;
    return (partial.up && partial.down) || (!p.has_infinity && overflows);
  }
  // The result may lie anywhere in y +- A, so the sign that counts is that of the infinity.
  if (std::isinf(got)) {
    const bool own = rounding_ != OutputRounding::kTowardZero;  // which stops at the largest finite number
    return got > 0 ? partial.up || (own && y + accumulated >= p.overflow_at)
                   : partial.down || (own && -y + accumulated >= p.overflow_at);
  }
  if (std::isinf(y)) return false;
  if (p.nearest) {
    if (std::fabs(y) - accumulated >= p.overflow_at) return false;
  } else if (got == std::copysign(p.max_finite, y) && std::fabs(y) + accumulated >= p.max_finite) {
    return true;  // rounding toward zero stops at the largest finite number
  }
  return std::fabs(y) <= p.max_finite ? AcceptsFinite(i, got, judged, accumulated) : judged.Within();
}

}  // namespace assay
