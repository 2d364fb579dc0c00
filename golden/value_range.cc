// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "golden/value_range.cc"
#include "golden/value_range.h"

#include <cmath>
#include <limits>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

ValueRange RangeOfImpl(const double* HWY_RESTRICT values, int64_t n) {
  const hn::ScalableTag<double> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const auto zero = hn::Zero(d);
  auto largest = zero, zeros = zero;
  auto smallest = infinity;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, values + i);
    const auto abs = hn::Abs(v);
    largest = hn::Max(largest, abs);
    smallest = hn::Min(smallest, hn::IfThenElse(hn::Gt(abs, zero), abs, infinity));
    zeros = hn::Add(zeros, hn::Mul(v, zero));  // NaN as soon as one value is not finite
  }
  double max_abs = hn::GetLane(hn::MaxOfLanes(d, largest)), min_abs = hn::GetLane(hn::MinOfLanes(d, smallest));
  double sum = hn::GetLane(hn::SumOfLanes(d, zeros));
  for (; i < n; ++i) {
    const double abs = std::fabs(values[i]);
    if (abs > max_abs) max_abs = abs;
    if (abs > 0 && abs < min_abs) min_abs = abs;
    sum += values[i] * 0.0;
  }
  return {max_abs, min_abs, !std::isnan(sum)};
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(RangeOfImpl);

ValueRange RangeOf(const double* values, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(RangeOfImpl)(values, n);
}

}  // namespace assay
#endif  // HWY_ONCE
