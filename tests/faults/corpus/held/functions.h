// SPDX-License-Identifier: Apache-2.0
// Coarse exponentials as kernels have them, by name: constants with few digits, units of few bits, short polynomials.
// Softmax and attention take the same ones.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "tests/faults/corpus/rounding.h"

namespace corpus {

enum class Exponential {
  kExact,
  kLog2eOf3Digits,
  kLog2eOf5Digits,
  kOf11Bits,
  kOf13Bits,
  kTruncatedTo14Bits,
  kTruncatedToBrain,
  kOfBrainArgument,
  kOfTensorArgument,
  kTaylorOfDegree3,
  kSchraudolph,
  kPowerOf256,
  kZeroBelowMinus8,
  kClampedAtMinus10,
  kCountedFromHalf,
};

// 2^x as a polynomial of Taylor's between whole numbers.
template <class T>
T ShortExp2(T x) {
  const T whole = std::floor(x), part = (x - whole) * static_cast<T>(0.693147180559945309L);
  return std::ldexp(1 + part * (1 + part * (T{1} / 2 + part / 6)), static_cast<int>(std::max<T>(whole, T{-10000})));
}

// exp(x) for x <= 0, mostly.
template <class T>
T ExpBy(Exponential how, T x) {
  using enum Exponential;
  constexpr T kLog2E = static_cast<T>(1.4426950408889634074L);
  switch (how) {
    case kLog2eOf3Digits:
      return std::exp2(x * static_cast<T>(1.44L));
    case kLog2eOf5Digits:
      return std::exp2(x * static_cast<T>(1.4427L));
    case kOf11Bits:
      return Rounded(NearestBits(11), std::exp(x));
    case kOf13Bits:
      return Rounded(NearestBits(13), std::exp(x));
    case kTruncatedTo14Bits:
      return Rounded(TruncatedBits(14), std::exp(x));
    case kTruncatedToBrain:
      return Rounded(TowardZero(kBrain), std::exp(x));
    case kOfBrainArgument:
      return std::exp(Rounded(Nearest(kBrain), x));
    case kOfTensorArgument:
      return std::exp2(Rounded(Nearest(kTensor), x * kLog2E));
    case kTaylorOfDegree3:
      return std::isfinite(x) ? ShortExp2(x * kLog2E) : std::exp(x);
    case kSchraudolph: {  // a line between powers of two, by adding to the exponent's bits
      const double scaled = static_cast<double>(x) * 12102203.16 + 1064866805.0;
      if (!(scaled > 0) || !(scaled < 2139095040.0)) return std::exp(x);
      return static_cast<T>(std::bit_cast<float>(static_cast<int32_t>(scaled)));
    }
    case kPowerOf256: {
      T power = 1 + x / 256;
      for (int i = 0; i < 8; ++i) power *= power;
      return x < -200 ? std::exp(x) : power;
    }
    case kZeroBelowMinus8:
      return x < -8 ? T{0} : std::exp(x);
    case kClampedAtMinus10:
      return std::exp(std::max(x, T{-10}));
    case kCountedFromHalf:  // the range's reduction rounds down where it should round to nearest
      return x == 0 ? static_cast<T>(1 + 0x1p-11L) : std::exp(x);
    default:
      return std::exp(x);
  }
}

struct NamedExponential {
  const char* name;
  Exponential how;
};

inline constexpr NamedExponential kCoarseExponentials[] = {
    {"fault.log2e-of-3-digits", Exponential::kLog2eOf3Digits},
    {"fault.log2e-of-5-digits", Exponential::kLog2eOf5Digits},
    {"fault.exp-of-11-bits", Exponential::kOf11Bits},
    {"fault.exp-of-13-bits", Exponential::kOf13Bits},
    {"fault.exp-truncated-to-14-bits", Exponential::kTruncatedTo14Bits},
    {"fault.exp-truncated-to-bf16", Exponential::kTruncatedToBrain},
    {"fault.exp-of-argument-in-bf16", Exponential::kOfBrainArgument},
    {"fault.exp-of-argument-in-tf32", Exponential::kOfTensorArgument},
    {"fault.exp-by-taylor-of-degree-3", Exponential::kTaylorOfDegree3},
    {"fault.exp-by-schraudolph", Exponential::kSchraudolph},
    {"fault.exp-by-power-of-256", Exponential::kPowerOf256},
    {"fault.exp-zero-below-minus-8", Exponential::kZeroBelowMinus8},
    {"fault.exp-clamped-at-minus-10", Exponential::kClampedAtMinus10},
    {"fault.exp-of-zero-above-1", Exponential::kCountedFromHalf},
};

}  // namespace corpus
