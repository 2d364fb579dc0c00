// SPDX-License-Identifier: Apache-2.0
// The 8-bit floating-point formats of OCP's OFP8 specification as storage types. Conversion rounds to nearest even and
// does not saturate: whoever wants that limits its numbers before.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/common/dtype.h"

namespace plugin {

inline constexpr DType kE4M3{ASSAY_TYPE_FLOAT8_E4M3FN, 8};
inline constexpr DType kE5M2{ASSAY_TYPE_FLOAT8_E5M2, 8};

// `kBeyond`: the code of what is too large, infinity or NaN.
template <int kMantissaBits, int kBiasOfExponent, uint8_t kMostCode, uint8_t kBeyondCode>
struct Float8 {
  uint8_t bits = 0;

  static Float8 Of(double value) {
    constexpr uint8_t kNan = 0x7F;
    const auto sign = static_cast<uint8_t>(std::signbit(value) ? 0x80 : 0);
    if (std::isnan(value)) return {static_cast<uint8_t>(sign | kNan)};
    const double size = std::fabs(value);
    if (std::isinf(size)) return {static_cast<uint8_t>(sign | kBeyondCode)};
    // In spacings of its binade an integer, whose hidden bit goes into the exponent.
    const int exponent = size == 0 ? 1 - kBiasOfExponent : std::max(std::ilogb(size), 1 - kBiasOfExponent);
    const auto spacings = static_cast<int64_t>(std::nearbyint(std::ldexp(size, kMantissaBits - exponent)));
    const int64_t code = ((static_cast<int64_t>(exponent) + kBiasOfExponent - 1) << kMantissaBits) + spacings;
    return {static_cast<uint8_t>(sign | (code > kMostCode ? kBeyondCode : code))};
  }
  double Value() const {
    const int code = bits & 0x7F, field = code >> kMantissaBits, rest = code & ((1 << kMantissaBits) - 1);
    const double sign = (bits & 0x80) != 0 ? -1 : 1;
    if (code > kMostCode) {
      return kBeyondCode != 0x7F && code == kBeyondCode ? sign * std::numeric_limits<double>::infinity()
                                                        : std::numeric_limits<double>::quiet_NaN();
    }
    const int significand = field == 0 ? rest : rest + (1 << kMantissaBits);
    return sign * std::ldexp(significand, std::max(field, 1) - kBiasOfExponent - kMantissaBits);
  }
};

using E4M3 = Float8<3, 7, 0x7E, 0x7F>;
using E5M2 = Float8<2, 15, 0x7B, 0x7C>;

template <class T>
concept IsFloat8 = std::is_same_v<T, E4M3> || std::is_same_v<T, E5M2>;

template <class To, class From>
requires(IsFloat8<To> || IsFloat8<From>) To ConvertAny(From x) {
  if constexpr (IsFloat8<From>) {
    return Convert<To>(x.Value());
  } else if constexpr (std::is_same_v<From, F16> || std::is_same_v<From, BF16>) {
    return To::Of(ToFloat(x));
  } else {
    return To::Of(static_cast<double>(x));
  }
}
template <class To, class From>
To ConvertAny(From x) {
  return Convert<To>(x);
}

}  // namespace plugin
