// SPDX-License-Identifier: Apache-2.0
// Sixteen fixed lanes whatever the vector width, so that all instruction sets give the same sums.
#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/judge/kernel/groups_kernel.cc"
#include "harness/judge/statistic/groups.h"
#include "hwy/foreach_target.h"
// after foreach_target.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kLanes = 16;

double AddSquaresImpl(const float* HWY_RESTRICT squares, int64_t n, float* HWY_RESTRICT columns) {
  const hn::CappedTag<float, kLanes> d;
  constexpr int kWidth = hn::MaxLanes(d);
  const int64_t whole = n / kLanes * kLanes;
  // All lanes in one pass: their sums do not wait for one another.
  std::array<hn::Vec<hn::CappedTag<float, kLanes>>, kLanes / kWidth> lane_sums;
  lane_sums.fill(hn::Zero(d));
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int lane = 0; lane < kLanes; lane += kWidth) {
      auto& sum = lane_sums[static_cast<size_t>(lane / kWidth)];
      const auto square = hn::LoadU(d, squares + i + lane);
      sum = hn::Add(sum, square);
      if (columns != nullptr) hn::StoreU(hn::Add(hn::LoadU(d, columns + i + lane), square), d, columns + i + lane);
    }
  }
  HWY_ALIGN float sums[kLanes];
  for (int lane = 0; lane < kLanes; lane += kWidth) {
    hn::StoreU(lane_sums[static_cast<size_t>(lane / kWidth)], d, sums + lane);
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
