// SPDX-License-Identifier: Apache-2.0
// Each element is summed over k in order in its own lane. Where products are exact a fused operation and its two halves
// give the same bits; where they are not, it is fused on every machine.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "golden/gemm/gemm_anchor.cc"
#include "golden/gemm/gemm_anchor.h"

#include <algorithm>
#include <cmath>

#include "golden/golden.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// a * b + c, rounded once.
template <bool kExactProducts, class D, class V>
HWY_INLINE V Fused(D d, V a, V b, V c) {
#if HWY_NATIVE_FMA
  (void)d;
  return hn::MulAdd(a, b, c);
#else
  if constexpr (kExactProducts) return hn::Add(hn::Mul(a, b), c);
  HWY_ALIGN double la[kPanelCols], lb[kPanelCols], lc[kPanelCols];
  hn::StoreU(a, d, la);
  hn::StoreU(b, d, lb);
  hn::StoreU(c, d, lc);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lc[i] = std::fma(la[i], lb[i], lc[i]);
  return hn::LoadU(d, lc);
#endif
}

template <bool kExactProducts, class D, class V>
HWY_INLINE void AnchorStep(D d, V a, V b, V& acc, V& lo, V& magnitude) {
  const V t = Fused<kExactProducts>(d, a, b, acc);
  const V minus_q = hn::Sub(acc, t);
  lo = hn::Add(lo, Fused<kExactProducts>(d, a, b, minus_q));
  acc = t;
  if constexpr (kExactProducts) {
    magnitude = Fused<true>(d, hn::Abs(a), hn::Abs(b), magnitude);
  } else {
    magnitude = hn::Add(magnitude, hn::Abs(hn::Mul(a, b)));
  }
}

template <class V>
struct Rest {
  V sum, error;
};

template <class V>
HWY_INLINE Rest<V> ExactSum(V a, V b) {
  const V s = hn::Add(a, b), t = hn::Sub(s, a);
  return {s, hn::Add(hn::Sub(a, hn::Sub(s, t)), hn::Sub(b, t))};
}

// out.hi + out.lo += (acc - anchor) + lo, the sum of two double-doubles of golden/dd/dd.h.
template <class D, class V>
HWY_INLINE void Fold(D d, V acc, V lo, size_t row, size_t lane, StripSums& out) {
  const Rest<V> block = ExactSum(hn::Sub(acc, hn::LoadU(d, out.anchor[row] + lane)), lo);
  const Rest<V> s = ExactSum(hn::LoadU(d, out.hi[row] + lane), block.sum);
  const Rest<V> t = ExactSum(hn::LoadU(d, out.lo[row] + lane), block.error);
  const Rest<V> v = ExactSum(s.sum, hn::Add(s.error, t.sum));
  const Rest<V> w = ExactSum(v.sum, hn::Add(t.error, v.error));
  hn::StoreU(w.sum, d, out.hi[row] + lane);
  hn::StoreU(w.error, d, out.lo[row] + lane);
}

template <class D, class V>
HWY_INLINE void SampleAnchored(D d, V acc, V magnitude, size_t row, size_t lane, StripSums& out) {
  const V s = hn::Add(hn::LoadU(d, out.hi[row] + lane), hn::Sub(acc, hn::LoadU(d, out.anchor[row] + lane)));
  HWY_ALIGN double samples[kPanelCols], magnitudes[kPanelCols];
  hn::StoreU(s, d, samples);
  hn::StoreU(magnitude, d, magnitudes);
  AddSamples(samples, magnitudes, hn::Lanes(d), row, lane, out);
}

template <bool kExactProducts, class D>
HWY_INLINE void AnchorLanes(D d, const StripInput& in, size_t lane, StripSums& out) {
  auto mag0 = hn::Zero(d), mag1 = mag0, mag2 = mag0, mag3 = mag0;
  for (int64_t block = 0; block < in.k; block += kAnchorBlock) {
    auto acc0 = hn::LoadU(d, out.anchor[0] + lane), acc1 = hn::LoadU(d, out.anchor[1] + lane);
    auto acc2 = hn::LoadU(d, out.anchor[2] + lane), acc3 = hn::LoadU(d, out.anchor[3] + lane);
    auto lo0 = hn::Zero(d), lo1 = lo0, lo2 = lo0, lo3 = lo0;
    const int64_t end = std::min(in.k, block + kAnchorBlock);
    for (int64_t k0 = block; k0 < end; k0 += kSigmaPanel) {
      const int64_t k1 = std::min(end, k0 + kSigmaPanel);
      for (int64_t k = k0; k < k1; ++k) {
        const auto b = hn::LoadU(d, in.b + k * kPanelCols + lane);
        AnchorStep<kExactProducts>(d, hn::Set(d, in.a[0][k]), b, acc0, lo0, mag0);
        AnchorStep<kExactProducts>(d, hn::Set(d, in.a[1][k]), b, acc1, lo1, mag1);
        AnchorStep<kExactProducts>(d, hn::Set(d, in.a[2][k]), b, acc2, lo2, mag2);
        AnchorStep<kExactProducts>(d, hn::Set(d, in.a[3][k]), b, acc3, lo3, mag3);
      }
      if (k1 == in.k) break;
      SampleAnchored(d, acc0, mag0, 0, lane, out);
      SampleAnchored(d, acc1, mag1, 1, lane, out);
      SampleAnchored(d, acc2, mag2, 2, lane, out);
      SampleAnchored(d, acc3, mag3, 3, lane, out);
    }
    Fold(d, acc0, lo0, 0, lane, out);
    Fold(d, acc1, lo1, 1, lane, out);
    Fold(d, acc2, lo2, 2, lane, out);
    Fold(d, acc3, lo3, 3, lane, out);
  }
  hn::StoreU(mag0, d, out.mag[0] + lane), hn::StoreU(mag1, d, out.mag[1] + lane);
  hn::StoreU(mag2, d, out.mag[2] + lane), hn::StoreU(mag3, d, out.mag[3] + lane);
}

void AnchorStripImpl(const StripInput& in, StripSums& out) {
  const hn::CappedTag<double, kPanelCols> d;
  for (size_t lane = 0; lane < kPanelCols; lane += hn::Lanes(d)) {
    in.exact_products ? AnchorLanes<true>(d, in, lane, out) : AnchorLanes<false>(d, in, lane, out);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(AnchorStripImpl);

void AnchorStrip(const StripInput& in, StripSums& sums) {
  HWY_DYNAMIC_DISPATCH(AnchorStripImpl)(in, sums);
}

}  // namespace assay
#endif  // HWY_ONCE
