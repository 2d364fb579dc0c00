// SPDX-License-Identifier: Apache-2.0
// Element types as the ABI names them, and the storage types of those that C++ lacks. Conversions round to nearest
// even, once; they are this folder's own, because a backend shares no arithmetic with the harness that judges it.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>

#include "backends/abi/assay_backend.h"

namespace plugin {

// A DLPack type code with its width in bits.
struct DType {
  uint8_t code = 0;
  uint8_t bits = 0;
  friend bool operator==(DType, DType) = default;
};

inline constexpr DType kF64{ASSAY_TYPE_FLOAT, 64};
inline constexpr DType kF32{ASSAY_TYPE_FLOAT, 32};
inline constexpr DType kF16{ASSAY_TYPE_FLOAT, 16};
inline constexpr DType kBF16{ASSAY_TYPE_BFLOAT, 16};
inline constexpr DType kI8{ASSAY_TYPE_INT, 8};
inline constexpr DType kU8{ASSAY_TYPE_UINT, 8};
inline constexpr DType kI16{ASSAY_TYPE_INT, 16};
inline constexpr DType kI32{ASSAY_TYPE_INT, 32};
inline constexpr DType kI64{ASSAY_TYPE_INT, 64};
inline constexpr DType kBool8{ASSAY_TYPE_BOOL, 8};      // 0 or 1
inline constexpr DType kC64{ASSAY_TYPE_COMPLEX, 64};    // two f32
inline constexpr DType kC128{ASSAY_TYPE_COMPLEX, 128};  // two f64

// "f32", "bf16", "i8", "c64", "f8e4m3fn"..., or the numbers of a type without a name.
std::string Name(DType dtype);

// Size of one element in bytes; complex types count both parts.
inline int64_t Bytes(DType dtype) {
  return (dtype.bits + 7) / 8;
}

inline bool IsFloat(DType d) {
  return d == kF64 || d == kF32 || d == kF16 || d == kBF16;
}

inline bool IsInteger(DType d) {
  return d == kI8 || d == kU8 || d == kI16 || d == kI32 || d == kI64 || d == kBool8;
}

// The bits of `value`, rounded once to a 16-bit format with `kMantissa` stored mantissa bits, overflow to infinity,
// gradual underflow. NaN becomes the quiet NaN of its sign.
template <int kMantissa>
constexpr uint16_t RoundTo16(double value) {
  constexpr int kExponent = 15 - kMantissa;
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  constexpr uint64_t kInf = ((uint64_t{1} << kExponent) - 1) << kMantissa;
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 48) & 0x8000u);
  const int exponent = static_cast<int>((bits >> 52) & 0x7FF) - 1023;
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (exponent == 1024) return sign | static_cast<uint16_t>(kInf | (fraction != 0 ? 1u << (kMantissa - 1) : 0u));
  if (exponent < -kBias - kMantissa) return sign;  // less than half the smallest subnormal
  const bool subnormal = exponent < 1 - kBias;
  const int shift = (52 - kMantissa) + (subnormal ? 1 - kBias - exponent : 0);
  const uint64_t significand = fraction | (uint64_t{1} << 52);
  uint64_t rounded = significand >> shift;
  const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  // A normal number carries its hidden bit into the exponent field: hence the exponent minus one.
  const uint64_t base = subnormal ? 0 : static_cast<uint64_t>(exponent + kBias - 1) << kMantissa;
  const uint64_t result = base + rounded;
  return sign | static_cast<uint16_t>(result > kInf ? kInf : result);
}

// IEEE binary16.
struct F16 {
  uint16_t bits = 0;
};

// The upper half of a binary32.
struct BF16 {
  uint16_t bits = 0;
};

constexpr float ToFloat(BF16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}

constexpr float ToFloat(F16 x) {
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000u) << 16;
  const uint32_t magnitude = x.bits & 0x7FFFu;
  if (magnitude >= 0x7C00u) return std::bit_cast<float>(sign | 0x7F800000u | ((magnitude & 0x3FFu) << 13));
  if (magnitude >= 0x400u) return std::bit_cast<float>(sign | ((magnitude + (112u << 10)) << 13));
  const float value = static_cast<float>(magnitude) * 0x1p-24f;
  return sign != 0 ? -value : value;
}

constexpr BF16 RoundToBF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t nan = static_cast<uint16_t>((bits >> 16) & 0x8000u) | 0x7FC0u;
  const uint16_t rounded = static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
  return {value != value ? nan : rounded};
}

// The value of an element in another type, rounded once to nearest even where it does not fit. Integers are not
// range-checked: the caller converts only what fits.
template <class To, class From>
constexpr To Convert(From x) {
  if constexpr (std::is_same_v<From, F16> || std::is_same_v<From, BF16>) {
    return Convert<To>(ToFloat(x));
  } else if constexpr (std::is_same_v<To, BF16> && std::is_same_v<From, float>) {
    return RoundToBF16(x);
  } else if constexpr (std::is_same_v<To, BF16>) {
    return {RoundTo16<7>(static_cast<double>(x))};
  } else if constexpr (std::is_same_v<To, F16>) {
    return {RoundTo16<10>(static_cast<double>(x))};
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace plugin
