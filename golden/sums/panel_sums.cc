// SPDX-License-Identifier: Apache-2.0
// Multiplications and additions are never fused here: the bits must not depend on the instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "golden/sums/panel_sums.cc"
#include "golden/sums/panel_sums.h"

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

// Magnitude of the largest panel above the mean of the others.
template <class D, class V>
HWY_INLINE V Excess(D d, V magnitude, V largest, double terms) {
  const double panel = static_cast<double>(kSigmaPanel);
  if (terms <= panel) return hn::Zero(d);
  const V others = hn::Mul(hn::Sub(magnitude, largest), hn::Set(d, panel / (terms - panel)));
  return hn::Max(hn::Zero(d), hn::Sub(largest, others));
}

// E of random orders.
template <class D, class V>
HWY_INLINE V RandomOrders(D d, V y, V magnitude, V panel_squares, V excess, double terms) {
  constexpr double kSquaresOfMagnitude = 2.4674;  // (pi / 2)^2: K Q / S^2 of products of normal numbers
  const V y2 = hn::Mul(y, y), s2 = hn::Mul(magnitude, magnitude);
  const V even = hn::Mul(s2, hn::Set(d, kSquaresOfMagnitude / terms));
  const V squares = hn::Max(hn::Max(panel_squares, even), hn::Mul(excess, excess));
  const V of_step = hn::Add(hn::Mul(y2, hn::Set(d, 1.0 / 3)), squares);
  const V random = hn::Add(y2, hn::Mul(hn::Set(d, terms - 1), of_step));
  const V largest = hn::Mul(hn::Set(d, 0.5), hn::Add(magnitude, hn::Abs(y)));
  return hn::Min(random, hn::Mul(hn::Set(d, terms), hn::Mul(largest, largest)));
}

void SigmaFromPanelsImpl(const double* HWY_RESTRICT y, const PanelSums& sums, const PanelShape& shape, double scale,
                         double* HWY_RESTRICT sigma, int64_t n) {
  const double inner = static_cast<double>(shape.inner);
  const double terms = inner * static_cast<double>(kSigmaPanel) + shape.last;
  ForLanes(n, [&](int64_t i, auto d) HWY_ATTR {
    const auto width = hn::Set(d, static_cast<double>(kSigmaPanel));
    const auto v = hn::Mul(hn::LoadU(d, y + i), hn::Set(d, scale));
    const auto s = hn::LoadU(d, sums.sum + i), s2 = hn::LoadU(d, sums.sum_squares + i);
    const auto y2 = hn::Mul(v, v);
    const auto forward = hn::Add(hn::Mul(width, s2), hn::Mul(hn::Set(d, shape.last), y2));
    // sum over inner ends of (y - s_p)^2; cancellation can leave it slightly negative.
    const auto cross = hn::Mul(hn::Add(v, v), s);
    const auto apart = hn::Max(hn::Zero(d), hn::Add(hn::Sub(hn::Mul(hn::Set(d, inner), y2), cross), s2));
    const auto backward = hn::Add(hn::Mul(width, apart), hn::Mul(hn::Set(d, shape.first), y2));
    const auto magnitude = hn::Mul(hn::LoadU(d, sums.magnitude + i), hn::Set(d, scale));
    const auto largest = hn::Mul(hn::LoadU(d, sums.largest + i), hn::Set(d, scale));
    const auto excess = Excess(d, magnitude, largest, terms);
    const auto random = RandomOrders(d, v, magnitude, hn::LoadU(d, sums.panel_squares + i), excess, terms);
    const auto deviation = hn::Sqrt(hn::Max(random, hn::Max(forward, backward)));
    hn::StoreU(hn::Mul(deviation, hn::Set(d, kRoundingDeviation / scale)), d, sigma + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(SigmaFromPanelsImpl);

void SigmaFromPanels(const double* y, const PanelSums& sums, const PanelShape& shape, double scale, double* sigma,
                     int64_t n) {
  HWY_DYNAMIC_DISPATCH(SigmaFromPanelsImpl)(y, sums, shape, scale, sigma, n);
}

double PanelSampler::Sigma(double y, double magnitude, int64_t k, double scale, double squares) const {
  const double panel = y * scale - last_, panel_squares = std::max(squares, panel_squares_ + panel * panel);
  const double unknown = 0;
  double sigma = 0;
  SigmaFromPanels(&y, {&sum_, &sum_squares_, &panel_squares, &magnitude, &unknown}, PanelShape(k), scale, &sigma, 1);
  return sigma;
}

double SquareScale(double magnitude) {
  // f32 products and their sums stay within 2^+-300, whose squares are in range.
  if (!(magnitude > 0) || (magnitude < 0x1p300 && magnitude > 0x1p-300)) return 1;
  const int exponent = std::isfinite(magnitude) ? std::ilogb(magnitude) : 1023;
  return std::ldexp(1.0, std::clamp(-exponent, -1000, 1000));
}

}  // namespace assay
#endif  // HWY_ONCE
