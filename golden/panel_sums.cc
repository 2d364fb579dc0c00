// SPDX-License-Identifier: Apache-2.0
// Multiplications and additions are never fused here: the bits must not depend on the instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "golden/panel_sums.cc"
#include "golden/panel_sums.h"

#include <algorithm>
#include <cmath>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls body(offset, d) for full vectors, then for single elements.
template <class Body>
HWY_INLINE void ForLanes(int64_t n, const Body& body) {
  const hn::ScalableTag<double> full;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(full));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, full);
  for (; i < n; ++i) body(i, hn::CappedTag<double, 1>());
}

void AccumulatePanelEndImpl(const double* HWY_RESTRICT s, double* HWY_RESTRICT sum, double* HWY_RESTRICT sum_squares,
                            int64_t n) {
  ForLanes(n, [&](int64_t i, auto d) HWY_ATTR {
    const auto v = hn::LoadU(d, s + i);
    hn::StoreU(hn::Add(hn::LoadU(d, sum + i), v), d, sum + i);
    hn::StoreU(hn::Add(hn::LoadU(d, sum_squares + i), hn::Mul(v, v)), d, sum_squares + i);
  });
}

void SigmaFromPanelsImpl(const double* HWY_RESTRICT y, const double* HWY_RESTRICT sum,
                         const double* HWY_RESTRICT sum_squares, const PanelShape& shape, double scale,
                         double* HWY_RESTRICT sigma, int64_t n) {
  const double inner = static_cast<double>(shape.inner);
  ForLanes(n, [&](int64_t i, auto d) HWY_ATTR {
    const auto width = hn::Set(d, static_cast<double>(kSigmaPanel));
    const auto v = hn::Mul(hn::LoadU(d, y + i), hn::Set(d, scale));
    const auto s = hn::LoadU(d, sum + i), s2 = hn::LoadU(d, sum_squares + i);
    const auto y2 = hn::Mul(v, v);
    const auto forward = hn::Add(hn::Mul(width, s2), hn::Mul(hn::Set(d, shape.last), y2));
    // sum over inner ends of (y - s_p)^2; cancellation can leave it slightly negative.
    const auto cross = hn::Mul(hn::Add(v, v), s);
    const auto apart = hn::Max(hn::Zero(d), hn::Add(hn::Sub(hn::Mul(hn::Set(d, inner), y2), cross), s2));
    const auto backward = hn::Add(hn::Mul(width, apart), hn::Mul(hn::Set(d, shape.first), y2));
    const auto deviation = hn::Sqrt(hn::Max(forward, backward));
    hn::StoreU(hn::Mul(deviation, hn::Set(d, kRoundingDeviation / scale)), d, sigma + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(AccumulatePanelEndImpl);
HWY_EXPORT(SigmaFromPanelsImpl);

void AccumulatePanelEnd(const double* s, double* sum, double* sum_squares, int64_t n) {
  HWY_DYNAMIC_DISPATCH(AccumulatePanelEndImpl)(s, sum, sum_squares, n);
}

void SigmaFromPanels(const double* y, const double* sum, const double* sum_squares, const PanelShape& shape,
                     double scale, double* sigma, int64_t n) {
  HWY_DYNAMIC_DISPATCH(SigmaFromPanelsImpl)(y, sum, sum_squares, shape, scale, sigma, n);
}

double SquareScale(double magnitude) {
  // f32 products and their sums stay within 2^+-300, whose squares are in range.
  if (!(magnitude > 0) || (magnitude < 0x1p300 && magnitude > 0x1p-300)) return 1;
  const int exponent = std::isfinite(magnitude) ? std::ilogb(magnitude) : 1023;
  return std::ldexp(1.0, std::clamp(-exponent, -1000, 1000));
}

}  // namespace assay
#endif  // HWY_ONCE
