// SPDX-License-Identifier: Apache-2.0
// Values of the 8-bit formats of OFP8 (Open Compute Project, 2023). Every one of them is a float.
#pragma once

#include <cstdint>

#include "backends/common/float8.h"

namespace corpus {

using plugin::kE4M3, plugin::kE5M2;

inline bool IsFp8(plugin::DType d) {
  return d == kE4M3 || d == kE5M2;
}

inline float ValueOfFp8(plugin::DType type, uint8_t bits) {
  return static_cast<float>(type == kE4M3 ? plugin::E4M3{bits}.Value() : plugin::E5M2{bits}.Value());
}

// Rounded to nearest even, once.
inline uint8_t BitsOfFp8(plugin::DType type, double x) {
  return type == kE4M3 ? plugin::E4M3::Of(x).bits : plugin::E5M2::Of(x).bits;
}

}  // namespace corpus
