// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/kernel/judge_kernel.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/judge/kernel/judge_kernel.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // compiles the code between HWY_BEFORE and AFTER once per instruction set
// after foreach_target.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
hn::Vec<D> Widen(D d, const float* p) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), p));
}

// The arrays lie in memory, and the arithmetic of an element is too long for a processor to reach the next loads while
// it waits: they are asked for this many elements early. Beyond the end of an array that does nothing.
constexpr int64_t kAhead = 512;

template <class T>
HWY_INLINE void Ahead(const T* p, int64_t i) {
  const auto address = reinterpret_cast<uintptr_t>(p) + sizeof(T) * static_cast<uintptr_t>(i + kAhead);
  hwy::Prefetch(reinterpret_cast<const T*>(address));
}

struct NarrowLoads {
  // Range reads the outputs in their own type, and one that is not finite leaves a sum of squared errors that is not
  // finite either: those of f32 do not overflow a double.
  static constexpr bool kRangeApart = true;
  const JudgeTile t;
  const bool shift_is_constant;
  NarrowLoads(const JudgeTile& tile, const JudgeParams& p)
      : t(tile), shift_is_constant(p.shift_of_value == 0 && p.shift_of_magnitude == 0 && p.shift_of_sigma == 0) {}
  HWY_INLINE void Prefetch(int64_t i) const {  // a cache line of each f32 array, two of the golden values
    Ahead(t.value, i);
    Ahead(t.value, i + kJudgeLanes);
    Ahead(t.got32, i);
    Ahead(t.term32, i);
    Ahead(t.sigma32, i);
    Ahead(t.error32, i);
  }
  template <class D>
  auto Got(D d, int64_t i) const {
    return Widen(d, t.got32 + i);
  }
  template <class D>
  auto Sigma(D d, int64_t i, const JudgeParams& p, hn::Vec<D> size) const {
    const auto sampled = hn::Mul(Widen(d, t.sigma32 + i), hn::Set(d, p.u_acc));
    const auto magnitude = hn::Add(Widen(d, t.term32 + i), size);
    return hn::Max(sampled, hn::Mul(hn::Set(d, p.sigma_floor), magnitude));
  }
  template <class D>
  auto Systematic(D d, int64_t i, const JudgeParams& p, hn::Vec<D> size, hn::Vec<D> sigma) const {
    if (shift_is_constant) return hn::Set(d, p.shift);
    const auto constant = hn::Add(hn::Set(d, p.shift), hn::Mul(hn::Set(d, p.shift_of_value), size));
    if (p.shift_of_magnitude == 0 && p.shift_of_sigma == 0) return constant;
    const auto magnitude = hn::Mul(hn::Set(d, p.shift_of_magnitude), Widen(d, t.term32 + i));
    return hn::Add(constant, hn::Add(magnitude, hn::Mul(hn::Set(d, p.shift_of_sigma), sigma)));
  }
  template <class D>
  auto Error(D d, int64_t i) const {
    return Widen(d, t.error32 + i);
  }
  template <class D>
  auto Difference(D, int64_t, hn::Vec<D> got, hn::Vec<D> value) const {
    return hn::Sub(got, value);
  }
  // One of the places that evaluate A, see ElementJudge::Accumulated.
  template <class D>
  auto Accumulated(D d, int64_t i, const JudgeParams& p, hn::Vec<D> error) const {
    return hn::Add(hn::Add(hn::Set(d, p.constant), error), hn::Mul(hn::Set(d, p.coefficient), Widen(d, t.term32 + i)));
  }
  template <class D>
  auto RoundingSource(D, int64_t, hn::Vec<D> value) const {
    return value;
  }
};

struct WideLoads {
  static constexpr bool kRangeApart = false;
  const JudgeTile t;
  HWY_INLINE void Prefetch(int64_t) const {}  // copies, in a cache already
  template <class D>
  auto Got(D d, int64_t i) const {
    return hn::LoadU(d, t.got + i);
  }
  template <class D>
  auto Sigma(D d, int64_t i, const JudgeParams&, hn::Vec<D>) const {
    return hn::LoadU(d, t.sigma + i);
  }
  template <class D>
  auto Systematic(D d, int64_t i, const JudgeParams&, hn::Vec<D>, hn::Vec<D>) const {
    return hn::LoadU(d, t.systematic + i);
  }
  template <class D>
  auto Error(D d, int64_t i) const {
    return hn::LoadU(d, t.error + i);
  }
  template <class D>
  auto Difference(D d, int64_t i, hn::Vec<D> got, hn::Vec<D> value) const {
    return hn::Sub(hn::Sub(got, value), hn::LoadU(d, t.lo + i));
  }
  template <class D>
  auto Accumulated(D d, int64_t i, const JudgeParams&, hn::Vec<D>) const {
    return hn::LoadU(d, t.accumulated + i);
  }
  template <class D>
  auto RoundingSource(D d, int64_t i, hn::Vec<D>) const {
    return hn::LoadU(d, t.rounding_source + i);
  }
};

// Quotients down to this share of the largest so far are formed, so that none is missed for a rounding: the largest
// then depends neither on lanes nor on order.
constexpr double kAlmost = 1 - 0x1p-50;

// The accumulators of one vector of lanes, kept in registers over a tile. Maxima and numbers of elements are the same
// in any order; those that are rarely touched are kept as single numbers, which end in the vector's first lane.
template <class D>
struct Registers {
  using V = hn::Vec<D>;
  V e2, y2, ulp2, sigma2, r2, bias, abs, largest_r2, got, negated_got;
  double rel = 0, ulp = 0, margin = 0;
  V spacings_least;  // of |error| over the spacing at y: a larger one may have the largest quotient
  V alarm;           // the same of margin, at most 1: violations are counted there as well
  size_t zeros = 0, inexact = 0, violations = 0;
  bool tie = false;  // some error is exactly the output's rounding where A is zero: one of a tie's neighbours is wrong

  template <class F>
  void ForEach(JudgeLanes& lanes, int lane, const F& f) {
    f(e2, &lanes.sum[kSumE2][lane]);
    f(y2, &lanes.sum[kSumY2][lane]);
    f(ulp2, &lanes.sum[kSumUlp2][lane]);
    f(sigma2, &lanes.sum[kSumSigma2][lane]);
    f(r2, &lanes.sum[kSumR2][lane]);
    f(bias, &lanes.sum[kSumBias][lane]);
    f(abs, &lanes.max[kMaxAbs][lane]);
    f(largest_r2, &lanes.max[kMaxR2][lane]);
    f(got, &lanes.max[kMaxGot][lane]);
    f(negated_got, &lanes.max[kMaxNegatedGot][lane]);
  }
  template <class F>
  void ForEachNumber(JudgeLanes& lanes, int lane, const F& f) {
    f(rel, lanes.max[kMaxRel][lane]);
    f(ulp, lanes.max[kMaxUlp][lane]);
    f(margin, lanes.max[kMaxMargin][lane]);
  }
  void SetLeast(D d, const JudgeParams& p) {
    spacings_least = hn::Set(d, kAlmost * std::min(ulp, rel / p.ulp_scale));
    // Without tolerance Compare finds the violations.
    alarm = hn::Set(d, p.exact ? std::numeric_limits<double>::infinity() : margin < 1 ? margin * kAlmost : 1.0);
  }
  void Count(JudgeLanes& lanes, int lane) const {
    lanes.sum[kZeros][lane] += static_cast<double>(zeros);
    lanes.sum[kInexact][lane] += static_cast<double>(inexact);
    lanes.sum[kViolations][lane] += static_cast<double>(violations);
  }
};

// `scale` times the spacing at x >= 0 of a format without a least exponent: the exponent field of x read as a number.
template <class D>
hn::Vec<D> Spacing(D d, hn::Vec<D> x, double scale) {
  return hn::Mul(hn::And(x, hn::Set(d, std::numeric_limits<double>::infinity())), hn::Set(d, scale));
}

template <class D>
double LargestQuotient(D d, hn::Mask<D> where, hn::Vec<D> x, hn::Vec<D> y) {
  return hn::GetLane(hn::MaxOfLanes(d, hn::IfThenElseZero(where, hn::Div(x, y))));
}

// Largest share of the error e of `got` that the output's own rounding can explain (RoundingReach::Of).
template <class D>
HWY_INLINE hn::Vec<D> Reach(D d, const RoundingReach& p, hn::Vec<D> got, hn::Vec<D> size, hn::Vec<D> e) {
  const hn::RebindToSigned<D> bits;
  const auto outward = hn::BitCast(bits, hn::Xor(got, e));  // where that is negative
  const auto choose = [&](hn::Vec<D> away, hn::Vec<D> toward) {
    return hn::BitCast(d, hn::IfNegativeThenElse(outward, hn::BitCast(bits, away), hn::BitCast(bits, toward)));
  };
  const auto binade = Spacing(d, choose(size, hn::Mul(size, hn::Set(d, kJustBelow))), p.scale);
  const auto reach = hn::Max(binade, hn::Set(d, p.floor));
  if (p.even) return reach;
  const auto directed = choose(reach, hn::Mul(reach, hn::Set(d, p.inward)));
  return hn::IfThenElse(hn::Eq(size, hn::Zero(d)), hn::Set(d, p.zero), directed);
}

// The largest quotients, and the violations. Few elements come near the largest before them, and only those are
// divided. The spacing is at most ulp, and at most p.ulp_scale times y, so that one comparison finds both kinds of
// quotient. `beyond` is Judgement::Beyond().
template <class D>
HWY_INLINE void Maxima(D d, const JudgeParams& p, hn::Vec<D> abs, hn::Vec<D> y, hn::Vec<D> spacing, hn::Vec<D> ulp,
                       hn::Vec<D> beyond, hn::Vec<D> allowed, Registers<D>& acc) {
  const auto far = hn::Gt(abs, hn::Mul(acc.spacings_least, spacing));
  const auto near = hn::Ge(beyond, hn::Mul(acc.alarm, allowed));
  if (hn::AllFalse(d, hn::Or(far, near))) return;
  if (!hn::AllFalse(d, far)) {
    acc.rel = std::max(acc.rel, LargestQuotient(d, hn::And(far, hn::Gt(y, hn::Zero(d))), abs, y));
    acc.ulp = std::max(acc.ulp, LargestQuotient(d, far, abs, ulp));
  }
  if (!hn::AllFalse(d, near)) {
    acc.tie = acc.tie || (!p.integer && !hn::AllFalse(d, hn::Eq(hn::Or(beyond, allowed), hn::Zero(d))));
    acc.violations += hn::CountTrue(d, hn::Gt(beyond, allowed));
    acc.margin = std::max(acc.margin, LargestQuotient(d, hn::And(near, hn::Gt(beyond, hn::Zero(d))), beyond, allowed));
  }
  acc.SetLeast(d, p);
}

// Which of the elements are not the rounded golden value.
template <class D, class Loads>
HWY_INLINE void Compare(D d, const Loads& in, const JudgeParams& p, int64_t i, hn::Vec<D> value, hn::Vec<D> got,
                        hn::Vec<D> e, hn::Vec<D> ulp, Registers<D>& acc) {
  const auto c = hn::Mul(ulp, hn::Set(d, p.round_scale));
  const auto rounded = hn::Sub(hn::Add(in.RoundingSource(d, i, value), c), c);
  const auto inexact = p.integer ? hn::Ne(e, hn::Zero(d)) : hn::Ne(got, rounded);
  const size_t count = hn::CountTrue(d, inexact);
  acc.inexact += count;
  if (!p.exact) return;
  acc.violations += count;
  if (count > 0) acc.margin = std::numeric_limits<double>::infinity();
}

// How a tile is gone through. kForced: a single element, added whatever it is, if both values are finite. kCompare:
// whether elements are the rounded golden values is still of interest.
enum class Pass { kForced, kCompare, kPlain };

// Adds one vector of elements; returns which of them the kernel can decide (kForced: can add).
template <Pass kPass, class D, class Loads>
HWY_INLINE hn::Mask<D> Step(D d, const Loads& in, const JudgeParams& p, int64_t i, Registers<D>& acc) {
  constexpr bool kForced = kPass == Pass::kForced;
  const auto zero = hn::Zero(d);
  const auto largest = hn::Set(d, std::numeric_limits<double>::max());
  const auto value = hn::LoadU(d, in.t.value + i);
  const auto got = in.Got(d, i);
  const auto e = in.Difference(d, i, got, value);
  const auto y = hn::Abs(value), size = hn::Abs(got);
  const auto abs = hn::Abs(e);
  const auto error = in.Error(d, i);
  const auto accumulated = in.Accumulated(d, i, p, error);
  const auto farthest = hn::Add(y, accumulated);
  const auto decidable = kForced ? hn::Le(y, largest) : hn::Lt(farthest, hn::Set(d, p.special_at));
  constexpr bool kIsSeenInErrors = Loads::kRangeApart && !kForced;
  const auto ordinary = kIsSeenInErrors ? decidable : hn::And(hn::Le(size, largest), decidable);

  // Every element that can be decided lies below the format's ceiling.
  auto spacing = Spacing(d, y, p.ulp_scale);
  if constexpr (kForced) spacing = hn::Min(spacing, hn::Set(d, p.ulp_ceiling));
  const auto ulp = hn::Max(spacing, hn::Set(d, p.ulp_floor));
  if constexpr (kPass != Pass::kPlain) Compare(d, in, p, i, value, got, e, ulp, acc);
  const auto beyond = hn::Sub(abs, Reach(d, p.reach, got, size, e));
  const auto allowed = hn::Mul(accumulated, hn::Set(d, kJudgeSlack));
  const auto sigma = in.Sigma(d, i, p, y);
  const auto unexplained = hn::Max(zero, hn::Sub(beyond, in.Systematic(d, i, p, y, sigma)));
  const auto sigma2 = hn::Mul(sigma, sigma);
  const auto variance = hn::Add(sigma2, hn::Mul(error, error));
  const auto r2 = hn::IfThenElseZero(hn::Gt(variance, zero), hn::Mul(hn::Div(unexplained, variance), unexplained));
  const hn::Rebind<float, D> narrow;
  hn::StoreU(hn::DemoteTo(narrow, r2), narrow, in.t.r2 + i);
  const auto r = hn::Sqrt(r2);
  const auto direction = hn::And(hn::Xor(e, value), hn::Set(d, -0.0));

  acc.e2 = hn::Add(acc.e2, hn::Mul(e, e));
  acc.y2 = hn::Add(acc.y2, hn::Mul(y, y));
  acc.ulp2 = hn::Add(acc.ulp2, hn::Mul(ulp, ulp));
  acc.sigma2 = hn::Add(acc.sigma2, sigma2);
  acc.r2 = hn::Add(acc.r2, r2);
  acc.largest_r2 = hn::Max(acc.largest_r2, r2);
  acc.bias = hn::Add(acc.bias, hn::Or(r, direction));
  acc.abs = hn::Max(acc.abs, abs);
  Maxima(d, p, abs, y, spacing, ulp, beyond, allowed, acc);
  if constexpr (kForced || !Loads::kRangeApart) {
    acc.zeros += hn::CountTrue(d, hn::Eq(got, zero));
    acc.got = hn::Max(acc.got, got);
    acc.negated_got = hn::Max(acc.negated_got, hn::Neg(got));
  }
  return ordinary;
}

// Elements first, first + 8, ... below `end`, as lanes `lane`, `lane` + 1, ...
template <Pass kPass, class D, class Loads>
bool Run(D d, const Loads& loads, const JudgeParams& params, int64_t first, int64_t end, int lane, JudgeLanes& lanes) {
  // Copies, which the stores of r2 cannot change: everything constant stays in registers.
  const Loads in = loads;
  const JudgeParams p = params;
  Registers<D> acc;
  acc.ForEach(lanes, lane, [d](auto& v, const double* from) { v = hn::LoadU(d, from); });
  acc.ForEachNumber(lanes, lane, [](double& x, double from) { x = from; });
  acc.SetLeast(d, p);
  auto ordinary = hn::Eq(hn::Zero(d), hn::Zero(d));
  int64_t i = first;
  for (; i + kJudgeLanes < end; i += 2 * kJudgeLanes) {
    in.Prefetch(i);
    ordinary = hn::And(ordinary, Step<kPass>(d, in, p, i, acc));
    ordinary = hn::And(ordinary, Step<kPass>(d, in, p, i + kJudgeLanes, acc));
  }
  if (i < end) ordinary = hn::And(ordinary, Step<kPass>(d, in, p, i, acc));
  if (Loads::kRangeApart && kPass != Pass::kForced) ordinary = hn::And(ordinary, hn::IsFinite(acc.e2));
  if (!hn::AllTrue(d, ordinary) || (kPass != Pass::kForced && acc.tie)) return false;
  acc.ForEach(lanes, lane, [d](const auto& v, double* to) { hn::StoreU(v, d, to); });
  acc.ForEachNumber(lanes, lane, [](double x, double& to) { to = x; });
  acc.Count(lanes, lane);
  return true;
}

// The zeros, the largest and the smallest of n outputs.
void Range(const float* got, int64_t n, JudgeLanes& lanes) {
  const hn::CappedTag<float, 16> d;
  const auto width = static_cast<int64_t>(hn::Lanes(d));
  auto largest = hn::Set(d, got[0]), smallest = largest;
  size_t zeros = 0;
  int64_t i = 0;
  for (; i + width <= n; i += width) {
    const auto x = hn::LoadU(d, got + i);
    largest = hn::Max(largest, x);
    smallest = hn::Min(smallest, x);
    zeros += hn::CountTrue(d, hn::Eq(x, hn::Zero(d)));
  }
  float high = hn::GetLane(hn::MaxOfLanes(d, largest)), low = hn::GetLane(hn::MinOfLanes(d, smallest));
  for (; i < n; ++i) {
    high = high < got[i] ? got[i] : high;
    low = got[i] < low ? got[i] : low;
    zeros += got[i] == 0 ? 1 : 0;
  }
  // Plus zero: which of two zeros is the larger one depends on the width.
  const double max = static_cast<double>(high) + 0.0, negated = 0.0 - static_cast<double>(low);
  if (lanes.max[kMaxGot][0] < max) lanes.max[kMaxGot][0] = max;
  if (lanes.max[kMaxNegatedGot][0] < negated) lanes.max[kMaxNegatedGot][0] = negated;
  lanes.sum[kZeros][0] += static_cast<double>(zeros);
}

template <Pass kPass, class Loads>
bool RunLanes(const Loads& in, const JudgeParams& p, int64_t n, JudgeLanes& lanes) {
  const hn::CappedTag<double, kJudgeLanes> d;
  const int width = static_cast<int>(hn::Lanes(d));
  if (width == kJudgeLanes) return Run<kPass>(d, in, p, 0, n, 0, lanes);
  JudgeLanes next = lanes;
  for (int lane = 0; lane < kJudgeLanes; lane += width) {
    if (!Run<kPass>(d, in, p, lane, n, lane, next)) return false;
  }
  lanes = next;
  return true;
}

// One inexact element says that the output is not bit exact; a contract without tolerance wants all of them.
bool MustCompare(const JudgeParams& p, const JudgeLanes& lanes) {
  if (p.exact) return true;
  for (const double count : lanes.sum[kInexact]) {
    if (count > 0) return false;
  }
  return true;
}

template <class Loads>
bool RunWhole(const Loads& in, const JudgeParams& p, int64_t n, JudgeLanes& lanes) {
  return MustCompare(p, lanes) ? RunLanes<Pass::kCompare>(in, p, n, lanes) : RunLanes<Pass::kPlain>(in, p, n, lanes);
}

bool Whole(const JudgeTile& tile, const JudgeParams& p, int64_t n, JudgeLanes& lanes) {
  if (tile.got32 == nullptr) return RunWhole(WideLoads{tile}, p, n, lanes);
  return RunWhole(NarrowLoads(tile, p), p, n, lanes);
}

bool One(const JudgeTile& tile, const JudgeParams& p, int64_t i, JudgeLanes& lanes) {
  const hn::CappedTag<double, 1> d;
  const int lane = static_cast<int>(i % kJudgeLanes);
  return tile.got32 ? Run<Pass::kForced>(d, NarrowLoads(tile, p), p, i, i + 1, lane, lanes)
                    : Run<Pass::kForced>(d, WideLoads{tile}, p, i, i + 1, lane, lanes);
}

}  // namespace assay::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(Whole);
HWY_EXPORT(One);
HWY_EXPORT(Range);

bool JudgeWhole(const JudgeTile& tile, const JudgeParams& params, int64_t n, JudgeLanes& lanes) {
  if (n == 0) return true;
  if (!HWY_DYNAMIC_DISPATCH(Whole)(tile, params, n, lanes)) return false;
  if (tile.got32 != nullptr) HWY_DYNAMIC_DISPATCH(Range)(tile.got32, n, lanes);
  return true;
}

bool JudgeOne(const JudgeTile& tile, const JudgeParams& params, int64_t i, JudgeLanes& lanes) {
  return HWY_DYNAMIC_DISPATCH(One)(tile, params, i, lanes);
}

}  // namespace assay
#endif
