// SPDX-License-Identifier: Apache-2.0
// The kinds of arithmetic that schedules are written in, as policies, and the roundings that bugs insert. T is the
// type that carries the values: float, double, long double.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/common/dtype.h"

namespace corpus {

// Every operation rounds to nearest in T.
template <class T>
struct Plain {
  using Value = T;
  static T Add(T a, T b) { return a + b; }
  static T Multiply(T a, T b) { return a * b; }
  static T MultiplyAdd(T a, T b, T c) { return c + a * b; }
};

// Plain with fused multiply-add.
template <class T>
struct WithFma : Plain<T> {
  static T MultiplyAdd(T a, T b, T c) { return std::fma(a, b, c); }
};

// `x` as Storage (plugin::F16, plugin::BF16, float) holds it. Values of T beyond double are rounded to double first.
template <class Storage, class T>
T RoundedTo(T x) {
  if constexpr (sizeof(T) > sizeof(double)) {
    return static_cast<T>(RoundedTo<Storage>(static_cast<double>(x)));
  } else {
    // Volatile: GCC 12 drops the narrowing of (double)(float)(double) of a long double.
    const volatile float narrow = plugin::Convert<float>(plugin::Convert<Storage>(x));
    return static_cast<T>(narrow);
  }
}

// Every result is rounded to Storage once more.
template <class T, class Storage>
struct Narrowed {
  using Value = T;
  static T Add(T a, T b) { return RoundedTo<Storage>(a + b); }
  static T Multiply(T a, T b) { return RoundedTo<Storage>(a * b); }
  static T MultiplyAdd(T a, T b, T c) { return RoundedTo<Storage>(c + a * b); }
};

// `x` truncated or rounded (ties to even) to `bits` significant bits; no limit of exponent. Non-finite: itself.
template <class T>
T TruncatedTo(int bits, T x) {
  if (!std::isfinite(x) || x == 0) return x;
  const int shift = bits - 1 - std::ilogb(x);
  return std::scalbn(std::trunc(std::scalbn(x, shift)), -shift);
}

template <class T>
T RoundedToBits(int bits, T x) {
  if (!std::isfinite(x) || x == 0) return x;
  const int shift = bits - 1 - std::ilogb(x);
  return std::scalbn(std::nearbyint(std::scalbn(x, shift)), -shift);
}

// tf32: 11 significant bits with f32's exponents. The hardware truncates, libraries round before.
template <class T>
T TruncatedToTf32(T x) {
  return static_cast<T>(std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(x)) & 0xFFFFE000u));
}

template <class T>
T RoundedToTf32(T x) {
  const float f = static_cast<float>(x);
  if (!std::isfinite(f)) return static_cast<T>(f);
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  return static_cast<T>(std::bit_cast<float>((bits + 0xFFFu + ((bits >> 13) & 1u)) & 0xFFFFE000u));
}

// Zero of the same sign where |x| is below `min_normal`.
template <class T>
T Flushed(T x, double min_normal) {
  return std::abs(x) < static_cast<T>(min_normal) ? std::copysign(T{0}, x) : x;
}

// The smallest normal number of a floating-point type of the ABI; 0 for integers.
inline double MinNormal(plugin::DType type) {
  if (type == plugin::kF16) return 0x1p-14;
  if (type == plugin::kF64 || type == plugin::kC128) return std::numeric_limits<double>::min();
  if (type == plugin::kF32 || type == plugin::kBF16 || type == plugin::kC64) return std::numeric_limits<float>::min();
  return 0;
}

}  // namespace corpus
