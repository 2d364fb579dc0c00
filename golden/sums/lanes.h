// SPDX-License-Identifier: Apache-2.0
// Sums in eight lanes, whatever the vector width, so that all instruction sets give the same numbers.
#pragma once

namespace assay {

inline constexpr int kSumLanes = 8;

inline double SumLanes(const double* v) {
  return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

}  // namespace assay
