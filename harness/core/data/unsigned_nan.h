// SPDX-License-Identifier: Apache-2.0
// For numbers that are printed: the sign of a NaN says nothing, differs from processor to processor, and makes "-nan".
#pragma once

#include <cmath>
#include <limits>

namespace assay {

inline double UnsignedNan(double x) {
  return std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x;
}

}  // namespace assay
