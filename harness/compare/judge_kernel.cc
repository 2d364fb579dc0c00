// SPDX-License-Identifier: Apache-2.0
#include "harness/compare/judge_kernel.h"

#include <limits>

// Vectors of unknown size cannot be members of the accumulator struct.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/compare/judge_kernel.cc"
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
  const JudgeTile t;
  HWY_INLINE void Prefetch(int64_t i) const {
    Ahead(t.value, i);
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
    const auto reach = hn::Add(Widen(d, t.term32 + i), size);
    return hn::Max(sampled, hn::Mul(hn::Set(d, p.sigma_floor), reach));
  }
  template <class D>
  auto Systematic(D d, int64_t i, const JudgeParams& p, hn::Vec<D> size, hn::Vec<D> sigma) const {
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

// The accumulators of one vector of lanes, kept in registers over a tile.
template <class D>
struct Registers {
  using V = hn::Vec<D>;
  V e2, y2, ulp2, sigma2, r2, bias, zeros, inexact, violations, abs, rel, ulp, margin, r, got, negated_got;

  template <class F>
  void ForEach(JudgeLanes& lanes, int lane, const F& f) {
    f(e2, &lanes.sum[kSumE2][lane]);
    f(y2, &lanes.sum[kSumY2][lane]);
    f(ulp2, &lanes.sum[kSumUlp2][lane]);
    f(sigma2, &lanes.sum[kSumSigma2][lane]);
    f(r2, &lanes.sum[kSumR2][lane]);
    f(bias, &lanes.sum[kSumBias][lane]);
    f(zeros, &lanes.sum[kZeros][lane]);
    f(inexact, &lanes.sum[kInexact][lane]);
    f(violations, &lanes.sum[kViolations][lane]);
    f(abs, &lanes.max[kMaxAbs][lane]);
    f(rel, &lanes.max[kMaxRel][lane]);
    f(ulp, &lanes.max[kMaxUlp][lane]);
    f(margin, &lanes.max[kMaxMargin][lane]);
    f(r, &lanes.max[kMaxR][lane]);
    f(got, &lanes.max[kMaxGot][lane]);
    f(negated_got, &lanes.max[kMaxNegatedGot][lane]);
  }
};

// ulp(x) for x >= 0: its exponent field read as a number, scaled, within the format's range of spacings.
template <class D>
hn::Vec<D> Ulp(D d, hn::Vec<D> x, const JudgeParams& p) {
  const auto exponent = hn::And(x, hn::Set(d, std::numeric_limits<double>::infinity()));
  const auto spacing = hn::Min(hn::Mul(exponent, hn::Set(d, p.ulp_scale)), hn::Set(d, p.ulp_ceiling));
  return hn::Max(spacing, hn::Set(d, p.ulp_floor));
}

// The largest quotients. Few elements are larger than all before them in their lane, and only those are divided; what a
// lane does depends on that lane alone, so the vector width does not matter.
template <class D>
HWY_INLINE void Maxima(D d, const JudgeParams& p, hn::Vec<D> abs, hn::Vec<D> y, hn::Vec<D> ulp, hn::Vec<D> tolerance,
                       hn::Mask<D> inexact, Registers<D>& acc) {
  const auto rel = hn::And(hn::Gt(abs, hn::Mul(acc.rel, y)), hn::Gt(y, hn::Zero(d)));
  const auto ulps = hn::Gt(abs, hn::Mul(acc.ulp, ulp));
  auto margin = hn::Gt(abs, hn::Mul(acc.margin, tolerance));
  if (p.exact) {
    acc.margin = hn::Max(acc.margin, hn::IfThenElseZero(inexact, hn::Set(d, std::numeric_limits<double>::infinity())));
    margin = hn::Gt(hn::Zero(d), hn::Zero(d));
  }
  if (hn::AllFalse(d, hn::Or(hn::Or(rel, ulps), margin))) return;
  acc.rel = hn::Max(acc.rel, hn::IfThenElseZero(rel, hn::Div(abs, y)));
  acc.ulp = hn::Max(acc.ulp, hn::IfThenElseZero(ulps, hn::Div(abs, ulp)));
  acc.margin = hn::Max(acc.margin, hn::IfThenElseZero(margin, hn::Div(abs, tolerance)));
}

// Adds one vector of elements; returns which of them the kernel cannot decide (kForced: cannot add).
template <bool kForced, class D, class Loads>
HWY_INLINE hn::Mask<D> Step(D d, const Loads& in, const JudgeParams& p, int64_t i, Registers<D>& acc) {
  in.Prefetch(i);
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, 1.0);
  const auto largest = hn::Set(d, std::numeric_limits<double>::max());
  const auto value = hn::LoadU(d, in.t.value + i);
  const auto got = in.Got(d, i);
  const auto e = in.Difference(d, i, got, value);
  const auto y = hn::Abs(value);
  const auto abs = hn::Abs(e);
  const auto error = in.Error(d, i);
  const auto accumulated = in.Accumulated(d, i, p, error);
  const auto reach = hn::Add(y, accumulated);
  const auto decidable = kForced ? hn::Le(y, largest) : hn::Lt(reach, hn::Set(d, p.special_at));
  const auto ordinary = hn::And(hn::Le(hn::Abs(got), largest), decidable);

  const auto ulp_y = Ulp(d, y, p);
  const auto c = hn::Mul(ulp_y, hn::Set(d, p.round_scale));
  const auto rounded = hn::Sub(hn::Add(in.RoundingSource(d, i, value), c), c);
  const auto inexact = p.integer ? hn::Ne(e, zero) : hn::Ne(got, rounded);
  const auto output = hn::Max(hn::Mul(hn::Set(d, p.u_out), reach), hn::Set(d, p.lambda_out));
  const auto tolerance = hn::Mul(hn::Add(accumulated, output), hn::Set(d, kJudgeSlack));
  const auto violation = p.exact ? inexact : hn::Gt(abs, tolerance);

  const auto ulp_larger = Ulp(d, hn::Max(y, hn::Abs(got)), p);
  const auto own = hn::Max(hn::Mul(ulp_larger, hn::Set(d, p.own_rounding)), hn::Set(d, p.lambda_out));
  const auto sigma = in.Sigma(d, i, p, y);
  const auto beyond = hn::Max(zero, hn::Sub(hn::Sub(abs, own), in.Systematic(d, i, p, y, sigma)));
  const auto sigma2 = hn::Mul(sigma, sigma);
  const auto variance = hn::Add(sigma2, hn::Mul(error, error));
  const auto r = hn::IfThenElseZero(hn::Gt(variance, zero), hn::Div(beyond, hn::Sqrt(variance)));
  const auto direction = hn::And(hn::Xor(e, value), hn::Set(d, -0.0));

  acc.e2 = hn::Add(acc.e2, hn::Mul(e, e));
  acc.y2 = hn::Add(acc.y2, hn::Mul(y, y));
  acc.ulp2 = hn::Add(acc.ulp2, hn::Mul(ulp_y, ulp_y));
  acc.sigma2 = hn::Add(acc.sigma2, sigma2);
  const auto r2 = hn::Mul(r, r);
  const hn::Rebind<float, D> narrow;
  hn::StoreU(hn::DemoteTo(narrow, r2), narrow, in.t.r2 + i);
  acc.r2 = hn::Add(acc.r2, r2);
  acc.bias = hn::Add(acc.bias, hn::Or(r, direction));
  acc.zeros = hn::Add(acc.zeros, hn::IfThenElseZero(hn::Eq(got, zero), one));
  acc.inexact = hn::Add(acc.inexact, hn::IfThenElseZero(inexact, one));
  acc.violations = hn::Add(acc.violations, hn::IfThenElseZero(violation, one));
  acc.abs = hn::Max(acc.abs, abs);
  Maxima(d, p, abs, y, ulp_y, tolerance, inexact, acc);
  acc.r = hn::Max(acc.r, r);
  acc.got = hn::Max(acc.got, got);
  acc.negated_got = hn::Max(acc.negated_got, hn::Neg(got));
  return hn::Not(ordinary);
}

// Elements first, first + 8, ... below `end`, as lanes `lane`, `lane` + 1, ...
template <bool kForced, class D, class Loads>
bool Run(D d, const Loads& loads, const JudgeParams& params, int64_t first, int64_t end, int lane, JudgeLanes& lanes) {
  // Copies, which the stores of r2 cannot change: everything constant stays in registers.
  const Loads in = loads;
  const JudgeParams p = params;
  Registers<D> acc;
  acc.ForEach(lanes, lane, [d](auto& v, const double* from) { v = hn::LoadU(d, from); });
  auto special = hn::Ne(hn::Zero(d), hn::Zero(d));
  for (int64_t i = first; i < end; i += kJudgeLanes) special = hn::Or(special, Step<kForced>(d, in, p, i, acc));
  if (!hn::AllFalse(d, special)) return false;
  acc.ForEach(lanes, lane, [d](const auto& v, double* to) { hn::StoreU(v, d, to); });
  return true;
}

template <class Loads>
bool RunWhole(const Loads& in, const JudgeParams& p, int64_t n, JudgeLanes& lanes) {
  const hn::CappedTag<double, kJudgeLanes> d;
  const int width = static_cast<int>(hn::Lanes(d));
  if (width == kJudgeLanes) return Run<false>(d, in, p, 0, n, 0, lanes);
  JudgeLanes next = lanes;
  for (int lane = 0; lane < kJudgeLanes; lane += width) {
    if (!Run<false>(d, in, p, lane, n, lane, next)) return false;
  }
  lanes = next;
  return true;
}

bool Whole(const JudgeTile& tile, const JudgeParams& p, int64_t n, JudgeLanes& lanes) {
  return tile.got32 ? RunWhole(NarrowLoads{tile}, p, n, lanes) : RunWhole(WideLoads{tile}, p, n, lanes);
}

bool One(const JudgeTile& tile, const JudgeParams& p, int64_t i, JudgeLanes& lanes) {
  const hn::CappedTag<double, 1> d;
  const int lane = static_cast<int>(i % kJudgeLanes);
  return tile.got32 ? Run<true>(d, NarrowLoads{tile}, p, i, i + 1, lane, lanes)
                    : Run<true>(d, WideLoads{tile}, p, i, i + 1, lane, lanes);
}

}  // namespace assay::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(Whole);
HWY_EXPORT(One);

bool JudgeWhole(const JudgeTile& tile, const JudgeParams& params, int64_t n, JudgeLanes& lanes) {
  return HWY_DYNAMIC_DISPATCH(Whole)(tile, params, n, lanes);
}

bool JudgeOne(const JudgeTile& tile, const JudgeParams& params, int64_t i, JudgeLanes& lanes) {
  return HWY_DYNAMIC_DISPATCH(One)(tile, params, i, lanes);
}

}  // namespace assay
#endif
