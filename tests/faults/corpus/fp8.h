// SPDX-License-Identifier: Apache-2.0
// Values of the 8-bit formats of OFP8 (Open Compute Project, 2023), as operands: e4m3 has no infinity and one NaN per
// sign, e5m2 is IEEE-like. Every one of them is a float.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/common/dtype.h"

namespace corpus {

inline constexpr plugin::DType kE4M3{ASSAY_TYPE_FLOAT8_E4M3FN, 8};
inline constexpr plugin::DType kE5M2{ASSAY_TYPE_FLOAT8_E5M2, 8};

inline bool IsFp8(plugin::DType d) {
  return d == kE4M3 || d == kE5M2;
}

inline float ValueOfFp8(plugin::DType type, uint8_t bits) {
  const int mantissa = type == kE4M3 ? 3 : 2, bias = type == kE4M3 ? 7 : 15;
  const int exponent = (bits & 0x7F) >> mantissa, fraction = bits & ((1 << mantissa) - 1);
  float value = 0;
  if (type == kE4M3 && (bits & 0x7F) == 0x7F) {
    value = std::numeric_limits<float>::quiet_NaN();
  } else if (type == kE5M2 && exponent == 31) {
    value = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(fraction), 1 - bias - mantissa);
  } else {
    value = std::ldexp(static_cast<float>(fraction + (1 << mantissa)), exponent - bias - mantissa);
  }
  return (bits & 0x80) != 0 ? -value : value;
}

}  // namespace corpus
