// SPDX-License-Identifier: Apache-2.0
// Matrix products accumulated in double-double, four rows by one vector of columns at a time. Every element is summed
// over k in order in its own lane and nothing but the error term of a product is fused, so that the bits depend
// neither on the vector width nor on the threads. Per step (TwoSum is exact, a double-double has |lo| <= u |hi|):
//   s + e = hi + p exactly;  v = lo + e (+ product error), rounded;  (hi, lo) = TwoSum(s, v)
// Each rounding of v is at most u * 2u * (|hi| + |p|), so K steps lose at most K 2^-104 S, with product errors 2^-103.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "golden/gemm/gemm_dd.cc"
#include <algorithm>
#include <cmath>

#include "golden/bound/bound.h"
#include "golden/gemm/gemm_engine.h"
#include "golden/gemm/gemm_panels.h"
#include "golden/sums/panel_sums.h"
#include "harness/core/base/parallel.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// a * b - p where p = a * b rounded: exact unless it underflows, and correctly rounded then.
template <class D, class V>
HWY_INLINE V ProductError(D d, V a, V b, V p) {
#if HWY_NATIVE_FMA
  (void)d;
  return hn::MulSub(a, b, p);
#else
  HWY_ALIGN double la[kPanelCols], lb[kPanelCols], lp[kPanelCols];
  hn::StoreU(a, d, la);
  hn::StoreU(b, d, lb);
  hn::StoreU(p, d, lp);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lp[i] = std::fma(la[i], lb[i], -lp[i]);
  return hn::LoadU(d, lp);
#endif
}

template <class V>
HWY_INLINE V TwoSumError(V a, V b, V s) {
  const V t = hn::Sub(s, a);
  return hn::Add(hn::Sub(a, hn::Sub(s, t)), hn::Sub(b, t));
}

template <bool kExactProducts, class D, class V>
HWY_INLINE void Step(D d, V a, V b, V& hi, V& lo, V& magnitude) {
  const V p = hn::Mul(a, b);
  const V s = hn::Add(hi, p);
  V v = TwoSumError(hi, p, s);
  if constexpr (!kExactProducts) v = hn::Add(v, ProductError(d, a, b, p));
  v = hn::Add(lo, v);
  hi = hn::Add(s, v);
  lo = TwoSumError(s, v, hi);
  magnitude = hn::Add(magnitude, hn::Abs(p));
}

template <class D, class V>
HWY_INLINE void SampleEnd(D d, V hi, V magnitude, size_t row, size_t lane, StripSums& out) {
  HWY_ALIGN double samples[kPanelCols], magnitudes[kPanelCols];
  hn::StoreU(magnitude, d, magnitudes);
  hn::StoreU(hn::Mul(hi, hn::LoadU(d, out.scale[row] + lane)), d, samples);
  AddSamples(samples, magnitudes, hn::Lanes(d), row, lane, out);
}

template <bool kExactProducts, class D>
HWY_INLINE void SumLanes(D d, const StripInput& in, size_t lane, StripSums& out) {
  auto hi0 = hn::Zero(d), hi1 = hi0, hi2 = hi0, hi3 = hi0, lo0 = hi0, lo1 = hi0, lo2 = hi0, lo3 = hi0;
  auto mag0 = hi0, mag1 = hi0, mag2 = hi0, mag3 = hi0;
  for (int64_t k0 = 0; k0 < in.k; k0 += kSigmaPanel) {
    const int64_t k1 = std::min(in.k, k0 + kSigmaPanel);
    for (int64_t k = k0; k < k1; ++k) {
      const auto b = hn::LoadU(d, in.b + k * kPanelCols + lane);
      Step<kExactProducts>(d, hn::Set(d, in.a[0][k]), b, hi0, lo0, mag0);
      Step<kExactProducts>(d, hn::Set(d, in.a[1][k]), b, hi1, lo1, mag1);
      Step<kExactProducts>(d, hn::Set(d, in.a[2][k]), b, hi2, lo2, mag2);
      Step<kExactProducts>(d, hn::Set(d, in.a[3][k]), b, hi3, lo3, mag3);
    }
    if (k1 == in.k) break;
    SampleEnd(d, hi0, mag0, 0, lane, out);
    SampleEnd(d, hi1, mag1, 1, lane, out);
    SampleEnd(d, hi2, mag2, 2, lane, out);
    SampleEnd(d, hi3, mag3, 3, lane, out);
  }
  hn::StoreU(hi0, d, out.hi[0] + lane), hn::StoreU(lo0, d, out.lo[0] + lane), hn::StoreU(mag0, d, out.mag[0] + lane);
  hn::StoreU(hi1, d, out.hi[1] + lane), hn::StoreU(lo1, d, out.lo[1] + lane), hn::StoreU(mag1, d, out.mag[1] + lane);
  hn::StoreU(hi2, d, out.hi[2] + lane), hn::StoreU(lo2, d, out.lo[2] + lane), hn::StoreU(mag2, d, out.mag[2] + lane);
  hn::StoreU(hi3, d, out.hi[3] + lane), hn::StoreU(lo3, d, out.lo[3] + lane), hn::StoreU(mag3, d, out.mag[3] + lane);
}

void SumStripImpl(const StripInput& in, StripSums& out) {
  const hn::CappedTag<double, kPanelCols> d;
  for (size_t lane = 0; lane < kPanelCols; lane += hn::Lanes(d)) {
    in.exact_products ? SumLanes<true>(d, in, lane, out) : SumLanes<false>(d, in, lane, out);
  }
}

void MagnitudeStripImpl(const StripInput& in, StripSums& out) {
  const hn::CappedTag<double, kPanelCols> d;
  for (size_t lane = 0; lane < kPanelCols; lane += hn::Lanes(d)) {
    auto m0 = hn::Zero(d), m1 = m0, m2 = m0, m3 = m0;
    for (int64_t k = 0; k < in.k; ++k) {
      const auto b = hn::LoadU(d, in.b + k * kPanelCols + lane);
      m0 = hn::Add(m0, hn::Abs(hn::Mul(hn::Set(d, in.a[0][k]), b)));
      m1 = hn::Add(m1, hn::Abs(hn::Mul(hn::Set(d, in.a[1][k]), b)));
      m2 = hn::Add(m2, hn::Abs(hn::Mul(hn::Set(d, in.a[2][k]), b)));
      m3 = hn::Add(m3, hn::Abs(hn::Mul(hn::Set(d, in.a[3][k]), b)));
    }
    hn::StoreU(m0, d, out.mag[0] + lane), hn::StoreU(m1, d, out.mag[1] + lane);
    hn::StoreU(m2, d, out.mag[2] + lane), hn::StoreU(m3, d, out.mag[3] + lane);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(SumStripImpl);
HWY_EXPORT(MagnitudeStripImpl);

void SumStrip(const StripInput& in, StripSums& out) {
  HWY_DYNAMIC_DISPATCH(SumStripImpl)(in, out);
}
void MagnitudeStrip(const StripInput& in, StripSums& out) {
  HWY_DYNAMIC_DISPATCH(MagnitudeStripImpl)(in, out);
}

}  // namespace assay
#endif  // HWY_ONCE
