// SPDX-License-Identifier: Apache-2.0
// The normal deviates of f32 and of narrower types: a Box-Muller pair from two 32-bit words in float arithmetic, by
// IEEE basic operations only. philox_normal_float.cc does the same in vectors, operation by operation, and has the same
// bits.
//
// With u = (w + 1/2) 2^-32 of the first word and v likewise of the second the pair is sqrt(-2 ln u) (cos, sin)(2 pi v).
// Neither factor is ever zero: u is taken by its distance from 1 in the upper half, where floats near 1 would make one
// radius in 2^25 zero, and angles lie half a step off the axes. Radii go from sqrt(2^-32) = 1.5e-5 to sqrt(66 ln 2)
// = 6.76. Deviates are within 5 ulps of the exact pair.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace assay::internal {

// Coefficients of polynomials, the constant first: minimax fits of the relative error, then rounded to float. What they
// leave of it is below 2^-27.4, 2^-26.8 and 2^-32.4.
// 4 artanh(t / 4) = t + t^3 P(t^2), 0 < t <= 4/3
inline constexpr float kFloatArtanh[] = {0x1.555502p-6f, 0x1.99d208p-11f, 0x1.1ebd0ep-15f, 0x1.1ed7cp-19f};
// sin t = t + t^3 P(t^2), cos t = 1 + t^2 (-1/2 + t^2 P(t^2)), |t| <= pi / 4
inline constexpr float kFloatSine[] = {-0x1.555546p-3f, 0x1.11073ap-7f, -0x1.9943e2p-13f};
inline constexpr float kFloatCosine[] = {-0.5f, 0x1.55554ap-5f, -0x1.6c0c34p-10f, 0x1.99eb9cp-16f};
inline constexpr float kTwoLn2 = 0x1.62e43p0f;
inline constexpr float kAngleUnit = 0x1.921fb6p-32f;  // pi 2^-33
inline constexpr uint32_t kFloatMantissa = 0x007FFFFF, kFloatOne = 0x3F800000, kFloatSign = 0x80000000;
inline constexpr int32_t kExponentOfOne = 127 + 31;  // the biased one of 2^31, for which u = 1/2

// -2 ln u = 2 k ln 2 - 2 ln m with u = 2^-k m, 1/2 <= m < 1, a sum of two positive numbers. Of d = 1 - m the latter is
// 4 artanh(d / (2 - d)).
inline float SquaredRadius(uint32_t word) {
  const float x = static_cast<float>(static_cast<int32_t>(word)) + 0.5f;  // 2^32 u, or 2^32 (u - 1) for u >= 1/2
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const float twice_m = std::bit_cast<float>((bits & kFloatMantissa) | kFloatOne);
  const float twice_d = x < 0 ? x * -0x1p-31f : 2.0f - twice_m;
  const float halvings = static_cast<float>(kExponentOfOne - static_cast<int32_t>(bits >> 23));  // negative with x
  const float k = halvings > 0 ? halvings : 0.0f;
  const float t = twice_d / (1.0f - 0.25f * twice_d);
  const float z = t * t;
  const float tail = z * (kFloatArtanh[0] + z * (kFloatArtanh[1] + z * (kFloatArtanh[2] + z * kFloatArtanh[3])));
  return k * kTwoLn2 + (t + t * tail);
}

struct FloatPair {
  float first, second;
};

inline FloatPair FloatNormals(uint32_t radius_word, uint32_t angle_word) {
  const float radius = std::sqrt(SquaredRadius(radius_word));
  // The angle's distance from the nearest multiple of a quarter turn.
  const float angle = static_cast<float>(static_cast<int32_t>(angle_word << 2 | 2)) * kAngleUnit;
  const float z = angle * angle;
  const float sin = angle + angle * (z * (kFloatSine[0] + z * (kFloatSine[1] + z * kFloatSine[2])));
  const float cos = 1.0f + z * (kFloatCosine[0] + z * (kFloatCosine[1] + z * (kFloatCosine[2] + z * kFloatCosine[3])));
  const uint32_t quadrant = angle_word + 0x20000000;  // in the two highest bits
  const bool odd = (quadrant & 0x40000000) != 0;
  const uint32_t cos_sign = (quadrant + 0x40000000) & kFloatSign, sin_sign = quadrant & kFloatSign;
  return {radius * std::bit_cast<float>(std::bit_cast<uint32_t>(odd ? sin : cos) ^ cos_sign),
          radius * std::bit_cast<float>(std::bit_cast<uint32_t>(odd ? cos : sin) ^ sin_sign)};
}

}  // namespace assay::internal
