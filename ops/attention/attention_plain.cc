// SPDX-License-Identifier: Apache-2.0
// The weights of a tile's query that no mask and no softcap touches (attention_tile.h), without the arrays of
// AttentionRow: three passes over scores that stay in a cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention/attention_plain.cc"
#include <algorithm>
#include <cmath>

#include "harness/core/data/infinity.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_lanes.h"
#include "ops/attention/attention_tile.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

double LargestScore(const double* dots, int64_t n, double scale) {
  const Doubles d;
  auto largest = hn::Set(d, -kInfinity);
  int64_t i = 0;
  for (; i + LanesOf(d) <= n; i += LanesOf(d)) {
    largest = hn::Max(largest, hn::Mul(hn::Set(d, scale), hn::LoadU(d, dots + i)));
  }
  double top = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; i < n; ++i) top = std::max(top, scale * dots[i]);
  return top;
}

// How far a score lies below the largest, never negative.
template <class D>
HWY_INLINE hn::Vec<D> Below(D d, hn::Vec<D> score, double largest) {
  return hn::Max(hn::Sub(hn::Set(d, largest), score), hn::Zero(d));
}

// Stores exp(score - largest) of each key; returns their sum, and through `furthest` how far the least score lies
// below.
double ExponentialsBelow(const double* dots, int64_t n, double scale, double largest, double* to, double& furthest) {
  const Doubles d;
  auto sum = hn::Zero(d), far = hn::Zero(d);
  const auto of = [&](auto tag, int64_t i, auto& most) HWY_ATTR {
    const auto below = Below(tag, hn::Mul(hn::Set(tag, scale), hn::LoadU(tag, dots + i)), largest);
    most = hn::Max(most, below);
    const auto e = NearExponential(tag, hn::Neg(below));
    hn::StoreU(e, tag, to + i);
    return e;
  };
  int64_t i = 0;
  for (; i + LanesOf(d) <= n; i += LanesOf(d)) sum = hn::Add(sum, of(d, i, far));
  double total = hn::GetLane(hn::SumOfLanes(d, sum));
  const hn::CappedTag<double, 1> one;
  auto rest = hn::Set(one, hn::GetLane(hn::MaxOfLanes(d, far)));
  for (; i < n; ++i) total += hn::GetLane(of(one, i, rest));
  furthest = hn::GetLane(rest);
  return total;
}

// Sums over keys as RowSums has them, with dot in units of |scale|, and those of vectors of D.
template <class D>
struct KeySums {
  using V = hn::Vec<D>;
  explicit HWY_INLINE KeySums(D d)
      : squares(hn::Zero(d)),
        dots(squares),
        added(squares),
        dot(squares),
        below(squares),
        size(squares),
        stored(squares) {}
  V squares, dots, added;      // sums
  V dot, below, size, stored;  // largest ones
};

// kHalves vectors of doubles, rounded to one of floats.
template <int kHalves, class F, class V>
HWY_INLINE hn::Vec<F> ToFloats(F f, const V (&from)[kHalves]) {
#if HWY_TARGET == HWY_SCALAR  // which cannot combine vectors
  return hn::DemoteTo(f, from[0]);
#else
  if constexpr (kHalves == 1) {
    return hn::DemoteTo(f, from[0]);
  } else {
    const hn::Half<F> half;
    return hn::Combine(f, hn::DemoteTo(half, from[1]), hn::DemoteTo(half, from[0]));
  }
#endif
}

struct PlainFactors {
  double scale, positive, largest, per_total, depth;
};

// The weights of kHalves vectors of keys: floats rounded up, and at least kLeastWeight unless they are zero.
template <int kHalves, class D>
HWY_INLINE void SetWeightsOf(D d, const double* dots, const float* magnitudes, int64_t i, const PlainFactors& by,
                             const TileWeights::Row& to, KeySums<D>& sums) {
  using F = hn::CappedTag<float, kHalves * hn::MaxLanes(D())>;
  const F f;
  hn::Vec<D> p[kHalves], score[kHalves], below[kHalves];
  for (int h = 0; h < kHalves; ++h) {
    const int64_t at = i + h * LanesOf(d);
    p[h] = hn::Mul(hn::LoadU(d, to.p + at), hn::Set(d, by.per_total));
    hn::StoreU(p[h], d, to.p + at);
    score[h] = hn::Mul(hn::Set(d, by.scale), hn::LoadU(d, dots + at));
    below[h] = Below(d, score[h], by.largest);
    const auto dot = hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), magnitudes + at));
    sums.squares = hn::MulAdd(p[h], p[h], sums.squares);
    sums.dots = hn::MulAdd(p[h], dot, sums.dots), sums.added = hn::MulAdd(p[h], below[h], sums.added);
    sums.dot = hn::Max(sums.dot, dot), sums.below = hn::Max(sums.below, below[h]);
    const auto size = hn::MulAdd(hn::Set(d, by.depth * by.positive), dot, hn::Mul(hn::Set(d, 8.0), below[h]));
    sums.size = hn::Max(sums.size, size);
    const auto weighs = hn::Lt(below[h], hn::Set(d, kWeightless));
    sums.stored = hn::Max(sums.stored, hn::IfThenElseZero(weighs, hn::Abs(score[h])));
  }
  // Four roundings to nearest are less than what the first factor here, of p, adds.
  const auto of = ToFloats<kHalves>(f, p), least = hn::Set(f, kLeastWeight);
  const auto up = hn::Mul(of, hn::Set(f, 1 + 0x1p-21F));
  const auto weigh = [&](auto x) HWY_ATTR {
    return hn::IfThenElseZero(hn::Gt(x, hn::Zero(f)), hn::Max(hn::Mul(up, x), least));
  };
  const auto dot = hn::Mul(hn::LoadU(f, magnitudes + i), hn::Set(f, static_cast<float>(by.positive * (1 + 0x1p-22))));
  const auto stored = hn::Mul(of, ToFloats<kHalves>(f, score));
  hn::StoreU(hn::Max(up, least), f, to.up + i);
  hn::StoreU(weigh(dot), f, to.dot + i);
  hn::StoreU(weigh(ToFloats<kHalves>(f, below)), f, to.added + i);
  hn::StoreU(hn::Mul(of, of), f, to.squared + i);
  hn::StoreU(hn::Mul(stored, stored), f, to.stored2 + i);
}

PlainRow WeighPlainRowImpl(const double* dots, const float* magnitudes, int64_t n, double scale, double depth,
                           const TileWeights::Row& to) {
  const Doubles d;
  const hn::CappedTag<double, 1> one;
  PlainRow row{.largest = LargestScore(dots, n, scale)};
  double furthest = 0;
  row.most = 1 / ExponentialsBelow(dots, n, scale, row.largest, to.p, furthest);
  row.near = furthest < kDead;
  if (!row.near) return row;
  const PlainFactors by{scale, std::fabs(scale), row.largest, row.most, depth};
  KeySums<Doubles> all(d);
  KeySums<hn::CappedTag<double, 1>> rest(one);
  constexpr int kHalves = hn::MaxLanes(Doubles()) > 1 ? 2 : 1;
  int64_t i = 0;
  for (; i + kHalves * LanesOf(d) <= n; i += kHalves * LanesOf(d)) {
    SetWeightsOf<kHalves>(d, dots, magnitudes, i, by, to, all);
  }
  for (; i < n; ++i) SetWeightsOf<1>(one, dots, magnitudes, i, by, to, rest);
  const auto sum = [&](auto x, auto y) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(d, x)) + hn::GetLane(y); };
  const auto most = [&](auto x, auto y)
                        HWY_ATTR { return std::max(hn::GetLane(hn::MaxOfLanes(d, x)), hn::GetLane(y)); };
  RowSums& sums = row.sums;
  row.magnitude = most(all.dot, rest.dot);
  sums.squares = sum(all.squares, rest.squares);
  sums.dot_mean = by.positive * sum(all.dots, rest.dots), sums.added_mean = sum(all.added, rest.added);
  sums.size_mean = depth * sums.dot_mean + 8 * sums.added_mean;
  sums.dot_max = sums.dot_top = by.positive * row.magnitude;
  sums.added_max = most(all.below, rest.below), sums.size_max = most(all.size, rest.size);
  sums.stored_max = most(all.stored, rest.stored);
  return row;
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(WeighPlainRowImpl);

PlainRow WeighPlainRow(const double* dots, const float* magnitudes, int64_t n, double scale, double depth,
                       const TileWeights::Row& to) {
  return HWY_DYNAMIC_DISPATCH(WeighPlainRowImpl)(dots, magnitudes, n, scale, depth, to);
}

}  // namespace assay
#endif  // HWY_ONCE
