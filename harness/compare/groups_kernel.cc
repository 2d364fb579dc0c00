// SPDX-License-Identifier: Apache-2.0
// Sixteen fixed lanes whatever the vector width, so that all instruction sets give the same sums.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/compare/groups_kernel.cc"
#include "harness/compare/groups.h"
#include "hwy/foreach_target.h"
// after foreach_target.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kLanes = 16;

double AddSquaresImpl(const float* HWY_RESTRICT squares, int64_t n, float* HWY_RESTRICT columns) {
  const hn::CappedTag<float, kLanes> d;
  const auto width = static_cast<int64_t>(hn::Lanes(d));
  const int64_t whole = n / kLanes * kLanes;
  HWY_ALIGN float sums[kLanes];
  for (int64_t lane = 0; lane < kLanes; lane += width) {
    auto sum = hn::Zero(d);
    for (int64_t i = lane; i < whole; i += kLanes) {
      const auto square = hn::LoadU(d, squares + i);
      sum = hn::Add(sum, square);
      if (columns != nullptr) hn::StoreU(hn::Add(hn::LoadU(d, columns + i), square), d, columns + i);
    }
    hn::StoreU(sum, d, sums + lane);
  }
  for (int64_t i = whole; i < n; ++i) {
    sums[i - whole] += squares[i];
    if (columns != nullptr) columns[i] += squares[i];
  }
  double total = 0;
  for (const float sum : sums) total += static_cast<double>(sum);
  return total;
}

}  // namespace assay::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(AddSquaresImpl);

double AddSquares(const float* squares, int64_t n, float* columns) {
  return HWY_DYNAMIC_DISPATCH(AddSquaresImpl)(squares, n, columns);
}

}  // namespace assay
#endif
