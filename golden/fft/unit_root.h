// SPDX-License-Identifier: Apache-2.0
// Points of the unit circle at rational angles, in double-double and by IEEE basic operations alone: the twiddle
// factors of the golden transforms, the same bits on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "golden/dd/dd.h"

namespace assay {

struct UnitRoot {
  DD re, im;
};

// Absolute error of either part of a root; the high parts are the nearest doubles, but for ties that close.
inline constexpr double kUnitRootError = 0x1p-102;

// e^(-2 pi i j / n) for j = 0 .. n - 1. Exact at multiples of a quarter turn. Precondition: 1 <= n < 2^48.
std::vector<UnitRoot> ConjugateRoots(int64_t n);

}  // namespace assay
