// SPDX-License-Identifier: Apache-2.0
// Reads golden planes and a bound at one golden value.
#pragma once

#include <cstdint>
#include <span>

#include "golden/bound/bound.h"
#include "golden/golden.h"

namespace assay {

// A plane's value for golden value i. Complex outputs may carry one number per element or per component.
inline double PlaneAt(const Plane& plane, int64_t i, int64_t values) {
  if (plane.empty()) return 0;
  return plane[plane.size() == values ? i : i / (values / plane.size())];
}

// PlaneAt of the elements from `first` on.
void ReadPlane(const Plane& plane, int64_t first, int64_t values, std::span<double> to);

// Whether some legal order of the finite terms leaves the accumulator's range, and to which infinity.
struct PartialOverflow {
  bool up = false, down = false;
  bool Any() const { return up || down; }
};
PartialOverflow PartialOverflowAt(const BoundModel& bound, const Golden& golden, int64_t i);

}  // namespace assay
