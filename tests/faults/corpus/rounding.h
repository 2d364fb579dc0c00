// SPDX-License-Identifier: Apache-2.0
// Roundings as data: a format's bits and range, and the direction.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace corpus {

// Significant bits and the exponents of the smallest normal and the largest number.
struct Format {
  int bits = 24;
  int least = -126, most = 127;
};

inline constexpr Format kHalf{11, -14, 15}, kBrain{8, -126, 127}, kTensor{11, -126, 127}, kSingle{24, -126, 127};
inline constexpr Format kDouble{53, -1022, 1023}, kFp8{4, -6, 8};

struct Rounding {
  enum class How { kNone, kNearest, kTowardZero, kHalfAway, kUp, kDown, kStochastic };
  How how = How::kNone;
  Format format;
  bool flushes = false;    // results below the smallest normal number are zero
  bool saturates = false;  // results beyond the largest number are the largest number

  bool IsNone() const { return how == How::kNone; }
};

constexpr Rounding Nearest(Format f) {
  return {Rounding::How::kNearest, f};
}
constexpr Rounding TowardZero(Format f) {
  return {Rounding::How::kTowardZero, f};
}
constexpr Rounding HalfAway(Format f) {
  return {Rounding::How::kHalfAway, f};
}
// To so many significant bits with f32's exponents.
constexpr Rounding NearestBits(int bits) {
  return Nearest({bits, -126, 127});
}
constexpr Rounding TruncatedBits(int bits) {
  return TowardZero({bits, -126, 127});
}

// A number in [0, 1) that follows from the value alone: the imitation of a random one that can be repeated.
inline double NoiseOf(double x) {
  uint64_t h = std::bit_cast<uint64_t>(x) * 0x9E3779B97F4A7C15u;
  h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9u;
  return static_cast<double>((h ^ (h >> 32)) >> 11) * 0x1p-53;
}

template <class T>
T WholeOf(Rounding::How how, T x) {
  using enum Rounding::How;
  switch (how) {
    case kTowardZero:
      return std::trunc(x);
    case kHalfAway:
      return std::round(x);
    case kUp:
      return std::ceil(x);
    case kDown:
      return std::floor(x);
    case kStochastic:
      return std::floor(x + static_cast<T>(NoiseOf(static_cast<double>(x))));
    default:
      return std::nearbyint(x);
  }
}

// `x` in the format; what is not finite stays.
template <class T>
T Rounded(const Rounding& r, T x) {
  if (r.IsNone() || !std::isfinite(x) || x == 0) return x;
  const int exponent = std::ilogb(x);
  if (r.flushes && exponent < r.format.least) return std::copysign(T{0}, x);
  const int shift = r.format.bits - 1 - (exponent < r.format.least ? r.format.least : exponent);
  const T y = std::scalbn(WholeOf(r.how, std::scalbn(x, shift)), -shift);
  if (y == 0 || std::ilogb(y) <= r.format.most) return y;
  const T largest = std::scalbn(2 - std::scalbn(T{1}, 1 - r.format.bits), r.format.most);
  return std::copysign(r.saturates ? largest : std::numeric_limits<T>::infinity(), x);
}

}  // namespace corpus
