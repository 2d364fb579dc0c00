// SPDX-License-Identifier: Apache-2.0
// Element types, and the binary floating-point formats behind them. Values are handled as double everywhere but at
// the edges: every type here but i64 (beyond 2^53) is a subset of double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "harness/core/base/result.h"

namespace assay {

enum class DType : uint8_t { kF64, kF32, kF16, kBF16, kE4M3, kE5M2, kI8, kI32, kI64, kC64, kC128, kU8, kI16, kBool };
inline constexpr int kDTypeCount = 14;

enum class DTypeKind : uint8_t { kFloat, kInt, kComplex };

// A binary floating-point format with round-to-nearest-even and gradual underflow (IEEE 754-2019; OCP OFP8 for the
// two 8-bit ones: e4m3 has no infinity, e5m2 has).
struct FloatFormat {
  int precision;      // significand bits, the hidden one included: 24 for f32
  int min_exponent;   // of the smallest normal number, 2^min_exponent: -126 for f32
  double max_finite;  // 65504 for f16, 448 for e4m3
  bool has_infinity;

  double UnitRoundoff() const;       // u = 2^-precision
  double MinNormal() const;          // 2^min_exponent
  double MinSubnormal() const;       // 2^(min_exponent - precision + 1)
  double OverflowThreshold() const;  // smallest |x| that rounds past max_finite: 65520 for f16; inf for f64
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // "f32", "bf16", "e4m3", "c64"
  DTypeKind kind;
  int size_bytes;
  uint8_t dlpack_code;  // DLDataTypeCode
  uint8_t dlpack_bits;
};

const DTypeInfo& Info(DType dtype);
inline std::string_view Name(DType dtype) {
  return Info(dtype).name;
}
inline int SizeOf(DType dtype) {
  return Info(dtype).size_bytes;
}
inline bool IsFloat(DType dtype) {
  return Info(dtype).kind == DTypeKind::kFloat;
}
inline bool IsInt(DType dtype) {
  return Info(dtype).kind == DTypeKind::kInt;
}
inline bool IsComplex(DType dtype) {
  return Info(dtype).kind == DTypeKind::kComplex;
}

// The format of a float type, or of a complex type's components. Precondition: not an integer type.
const FloatFormat& FormatOf(DType dtype);

// Error names the known types.
Result<DType> ParseDType(std::string_view name);

// x rounded to nearest even in the format; overflow gives infinity, or NaN where the format has none (OCP OFP8
// non-saturating conversion). NaN stays NaN, the sign of zero is kept.
double RoundTo(const FloatFormat& format, double x);

// Rounds as RoundTo does, but of ties to the number that is farther from zero.
double RoundTiesAway(const FloatFormat& format, double x);

// Spacing of the format's numbers at |x|, at least the smallest normal's spacing.
double UlpAt(const FloatFormat& format, double x);

// Bulk conversion of n elements (2n components for complex types) between storage and double. FromF64 rounds to
// nearest even, once; integers saturate and NaN becomes 0. i64 is exact up to 2^53. Any byte of a bool but 0 is read as
// 1; a number above 0 is stored as 1.
void ToF64(DType dtype, const void* storage, std::span<double> values);
void FromF64(DType dtype, std::span<const double> values, void* storage);

// Integers without a detour through double, beyond 2^53 too; any byte of a bool but 0 is 1. Precondition: a type of
// integers.
void ToI64(DType dtype, const void* storage, std::span<int64_t> values);

// The smallest and the largest number of a type of integers.
struct IntegerLimits {
  int64_t low, high;
};
IntegerLimits LimitsOf(DType dtype);

// The integer that a register of this type holds instead of `sum`: equal to it modulo 2^bits. bool: whether it is not
// 0.
int64_t WrapTo(DType dtype, uint64_t sum);

// x - rounded, exactly; `rounded` is x as a double and can be 2^63, which no int64_t holds.
double LowPart(int64_t x, double rounded);

}  // namespace assay
