// SPDX-License-Identifier: Apache-2.0
#include "harness/core/data/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "harness/core/data/fill/rng.h"

namespace assay {
namespace {

constexpr DType kNarrow[] = {DType::kF16, DType::kBF16, DType::kE4M3, DType::kE5M2};

// One value through the bulk conversion.
double DecodeOne(DType dtype, uint64_t code) {
  double value = 0;
  ToF64(dtype, &code, std::span(&value, 1));
  return value;
}
uint64_t EncodeOne(DType dtype, double value) {
  uint64_t code = 0;
  FromF64(dtype, std::span(&value, 1), &code);
  return code;
}
bool SameBits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}
uint64_t SignCode(DType dtype) {
  return uint64_t{1} << (8 * SizeOf(dtype) - 1);
}

// The value of a code by its definition: (-1)^s (1.m) 2^(e - bias).
double ByDefinition(DType dtype, uint64_t code) {
  const FloatFormat& format = FormatOf(dtype);
  const int fraction_bits = format.precision - 1;
  const uint64_t magnitude = code & (SignCode(dtype) - 1);
  const auto fraction = static_cast<double>(magnitude & ((1u << fraction_bits) - 1));
  const int exponent = static_cast<int>(magnitude >> fraction_bits);
  const int top = static_cast<int>((SignCode(dtype) - 1) >> fraction_bits);
  const double sign = code & SignCode(dtype) ? -1.0 : 1.0;
  if (dtype == DType::kE4M3 && magnitude == 0x7F) return NAN;
  if (dtype != DType::kE4M3 && exponent == top) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, format.min_exponent - fraction_bits);
  return sign * std::ldexp(1 + std::ldexp(fraction, -fraction_bits), exponent - 1 + format.min_exponent);
}

TEST(DType, EveryCodeOfTheNarrowFormatsDecodesAndComesBack) {
  for (DType dtype : kNarrow) {
    for (uint64_t code = 0; code < 2 * SignCode(dtype); ++code) {
      const double value = DecodeOne(dtype, code);
      ASSERT_TRUE(SameBits(value, ByDefinition(dtype, code))) << Name(dtype) << " " << code;
      ASSERT_TRUE(SameBits(RoundTo(FormatOf(dtype), value), value)) << Name(dtype) << " " << code;
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(DecodeOne(dtype, EncodeOne(dtype, value))));
      } else {
        ASSERT_EQ(EncodeOne(dtype, value), code) << Name(dtype);
      }
    }
  }
}

// Around every midpoint of neighbours a < b: just below goes to a, just above to b, the midpoint to the even code.
// Past the largest number its next neighbour would be 2^k, where the format overflows.
TEST(DType, EveryMidpointRoundsToEven) {
  for (DType dtype : kNarrow) {
    const FloatFormat& format = FormatOf(dtype);
    const auto check = [&](double x, double want) {
      for (double sign : {1.0, -1.0}) {
        ASSERT_TRUE(SameBits(RoundTo(format, sign * x), std::isnan(want) ? want : sign * want))
            << Name(dtype) << " " << x;
        ASSERT_TRUE(SameBits(DecodeOne(dtype, EncodeOne(dtype, sign * x)), std::isnan(want) ? want : sign * want))
            << Name(dtype) << " " << x;
      }
    };
    for (uint64_t code = 0; DecodeOne(dtype, code) <= format.max_finite; ++code) {
      const double a = DecodeOne(dtype, code), next = DecodeOne(dtype, code + 1);
      const double b = a == format.max_finite ? a + UlpAt(format, a) : next;
      const double middle = a + (b - a) / 2;
      check(std::nextafter(middle, 0.0), a);
      check(std::nextafter(middle, INFINITY), next);
      check(middle, code % 2 == 0 ? a : next);
      EXPECT_TRUE(SameBits(RoundTiesAway(format, -middle), -next)) << Name(dtype) << " " << middle;
      EXPECT_TRUE(SameBits(RoundTiesAway(format, std::nextafter(middle, 0.0)), a)) << Name(dtype) << " " << middle;
    }
  }
}

TEST(DType, SpecialValues) {
  for (DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kE4M3, DType::kE5M2}) {
    const FloatFormat& format = FormatOf(dtype);
    const double overflow = format.has_infinity ? INFINITY : NAN;
    for (double x : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::max()}) {
      const double want = dtype == DType::kF64 ? x : overflow;
      EXPECT_TRUE(SameBits(RoundTo(format, x), want)) << Name(dtype);
      EXPECT_TRUE(SameBits(RoundTo(format, -x), -want)) << Name(dtype);
      EXPECT_TRUE(SameBits(DecodeOne(dtype, EncodeOne(dtype, -x)), -want)) << Name(dtype);
    }
    EXPECT_TRUE(std::isnan(RoundTo(format, NAN)));
    EXPECT_TRUE(std::isnan(DecodeOne(dtype, EncodeOne(dtype, NAN))));
    EXPECT_TRUE(SameBits(RoundTo(format, -0.0), -0.0));
    EXPECT_TRUE(SameBits(DecodeOne(dtype, EncodeOne(dtype, -0.0)), -0.0));
    if (dtype != DType::kF64) {
      EXPECT_TRUE(SameBits(DecodeOne(dtype, EncodeOne(dtype, -0x1p-1074)), -0.0));
    }
  }
  EXPECT_EQ(EncodeOne(DType::kF16, 65519.99), 0x7BFFu);
  EXPECT_EQ(EncodeOne(DType::kF16, 65520.0), 0x7C00u);
  EXPECT_EQ(EncodeOne(DType::kE4M3, 464.0), 0x7Eu);
  EXPECT_EQ(EncodeOne(DType::kE4M3, 464.001), 0x7Fu);
  EXPECT_EQ(EncodeOne(DType::kE5M2, 61440.0), 0x7Cu);
}

TEST(DType, FormatConstants) {
  EXPECT_EQ(FormatOf(DType::kF16).OverflowThreshold(), 65520.0);
  EXPECT_EQ(FormatOf(DType::kF64).OverflowThreshold(), INFINITY);
  EXPECT_EQ(FormatOf(DType::kE4M3).OverflowThreshold(), std::nextafter(464.0, INFINITY));
  EXPECT_EQ(FormatOf(DType::kF32).MinSubnormal(), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(FormatOf(DType::kF32).MinNormal(), std::numeric_limits<float>::min());
  EXPECT_EQ(FormatOf(DType::kF64).MinSubnormal(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(FormatOf(DType::kBF16).UnitRoundoff(), 0x1p-8);
  EXPECT_EQ(FormatOf(DType::kBF16).max_finite, DecodeOne(DType::kBF16, 0x7F7F));
  EXPECT_EQ(&FormatOf(DType::kC64), &FormatOf(DType::kF32));
}

TEST(DType, UlpIsTheSpacing) {
  const FloatFormat& f16 = FormatOf(DType::kF16);
  EXPECT_EQ(UlpAt(f16, 1.0), 0x1p-10);
  EXPECT_EQ(UlpAt(f16, -1.999), 0x1p-10);
  EXPECT_EQ(UlpAt(f16, 2.0), 0x1p-9);
  EXPECT_EQ(UlpAt(f16, 0.0), 0x1p-24);
  EXPECT_EQ(UlpAt(f16, 0x1p-20), 0x1p-24);
  EXPECT_EQ(UlpAt(f16, 1e9), 32.0);
  EXPECT_TRUE(std::isnan(UlpAt(f16, NAN)));
  EXPECT_EQ(UlpAt(FormatOf(DType::kF64), 1.0), 0x1p-52);
}

// Doubles of every exponent that f32 knows and a little beyond, against the hardware.
TEST(DType, F32AgreesWithTheHardwareCast) {
  const RandomStream random(1, 0);
  for (uint64_t i = 0; i < 500000; ++i) {
    const uint64_t bits = random.Bits(i);
    double x = std::ldexp(1 + random.Uniform(i), static_cast<int>(bits % 290) - 155) * (bits >> 63 ? -1 : 1);
    if (bits >> 62 & 1) {  // a tie, or next to one
      const float f = static_cast<float>(x);
      const double middle = (static_cast<double>(f) + std::nextafterf(f, INFINITY)) / 2;
      if (std::isfinite(middle)) x = std::nextafter(middle, bits >> 61 & 1 ? INFINITY : middle);
    }
    ASSERT_TRUE(SameBits(RoundTo(FormatOf(DType::kF32), x), static_cast<float>(x))) << x;
    ASSERT_EQ(EncodeOne(DType::kF32, x), std::bit_cast<uint32_t>(static_cast<float>(x))) << x;
  }
}

#ifdef __FLT16_MAX__
TEST(DType, F16AgreesWithTheCompiler) {
  const RandomStream random(2, 0);
  for (uint64_t i = 0; i < 500000; ++i) {
    const uint64_t bits = random.Bits(i);
    const double x = std::ldexp(1 + random.Uniform(i), static_cast<int>(bits % 46) - 28) * (bits >> 63 ? -1 : 1);
    ASSERT_EQ(EncodeOne(DType::kF16, x), std::bit_cast<uint16_t>(static_cast<_Float16>(x))) << x;
  }
}
#endif

// f32 numbers to bf16 by the usual integer rule, which is right where the double is an f32 number.
TEST(DType, BF16AgreesWithIntegerRoundingOfF32) {
  const RandomStream random(3, 0);
  for (uint64_t i = 0; i < 500000; ++i) {
    const auto bits = static_cast<uint32_t>(random.Bits(i));
    const auto f = std::bit_cast<float>(bits);
    if (std::isnan(f)) continue;
    ASSERT_EQ(EncodeOne(DType::kBF16, f), (bits + 0x7FFF + (bits >> 16 & 1)) >> 16) << f;
  }
  // One rounding, not two: just above a tie of bf16, where f32 would fall on the tie and then to even.
  EXPECT_EQ(EncodeOne(DType::kBF16, 1 + 0x1p-8 + 0x1p-40), 0x3F81u);
}

TEST(DType, IntegersSaturateAndRoundToEven) {
  EXPECT_EQ(static_cast<int8_t>(EncodeOne(DType::kI8, 2.5)), 2);
  EXPECT_EQ(static_cast<int8_t>(EncodeOne(DType::kI8, -3.5)), -4);
  EXPECT_EQ(static_cast<int8_t>(EncodeOne(DType::kI8, 1e9)), 127);
  EXPECT_EQ(static_cast<int8_t>(EncodeOne(DType::kI8, -INFINITY)), -128);
  EXPECT_EQ(static_cast<int8_t>(EncodeOne(DType::kI8, NAN)), 0);
  EXPECT_EQ(static_cast<int32_t>(EncodeOne(DType::kI32, 2147483646.5)), 2147483646);
  EXPECT_EQ(static_cast<int64_t>(EncodeOne(DType::kI64, 0x1p63)), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(static_cast<int64_t>(EncodeOne(DType::kI64, -0x1p63)), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(static_cast<int64_t>(EncodeOne(DType::kI64, 0x1p53 - 1)), (int64_t{1} << 53) - 1);
  EXPECT_EQ(DecodeOne(DType::kI8, 0x80), -128.0);
  for (int code = 0; code < 256; ++code) {
    EXPECT_EQ(DecodeOne(DType::kU8, static_cast<uint64_t>(code)), code);
    EXPECT_EQ(EncodeOne(DType::kU8, code), static_cast<uint64_t>(code));
  }
  EXPECT_EQ(EncodeOne(DType::kU8, 254.5), 254U);
  EXPECT_EQ(EncodeOne(DType::kU8, 127.5), 128U);
  EXPECT_EQ(EncodeOne(DType::kU8, 1e9), 255U);
  EXPECT_EQ(EncodeOne(DType::kU8, -0.75), 0U);
  EXPECT_EQ(EncodeOne(DType::kU8, -INFINITY), 0U);
  EXPECT_EQ(EncodeOne(DType::kU8, NAN), 0U);
  EXPECT_EQ(DecodeOne(DType::kI32, 0x80000000u), -2147483648.0);
}

// Bulk lengths that end inside a vector, against single conversions.
TEST(DType, BulkEqualsSingle) {
  std::vector<double> values(70001);
  RandomStream(4, 0).FillNormal(0, values);
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (IsComplex(dtype)) continue;
    const auto size = static_cast<size_t>(SizeOf(dtype));
    std::vector<std::byte> storage(values.size() * size);
    std::vector<double> back(values.size());
    FromF64(dtype, values, storage.data());
    ToF64(dtype, storage.data(), back);
    for (size_t i = 0; i < values.size(); i += i < 100 ? 1 : 997) {
      uint64_t code = 0;
      std::memcpy(&code, storage.data() + i * size, size);
      ASSERT_EQ(code, EncodeOne(dtype, values[i])) << Name(dtype) << " " << i;
      ASSERT_EQ(back[i], DecodeOne(dtype, code)) << Name(dtype) << " " << i;
    }
  }
}

TEST(DType, NamesParseAndErrorsListThem) {
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    EXPECT_EQ(ParseDType(Name(dtype)).value(), dtype);
    EXPECT_EQ(Info(dtype).dlpack_bits, 8 * SizeOf(dtype));
  }
  const auto bad = ParseDType("float");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, ErrorCode::kUsage);
  EXPECT_NE(bad.error().message.find("'float'"), std::string::npos);
  EXPECT_NE(bad.error().message.find("f64, f32, f16, bf16, e4m3, e5m2, i8, i32, i64, c64, c128, u8, i16, bool"),
            std::string::npos);
  const std::pair<const char*, const char*> hints[] = {{"float", "f32"},          {"torch.bfloat16", "bf16"},
                                                       {"np.float32", "f32"},     {"half", "f16"},
                                                       {"Float8_E4M3FN", "e4m3"}, {"bf17", "bf16"}};
  for (const auto& [word, meant] : hints) {
    const std::string asked = std::string("; did you mean '") + meant + "'?";
    EXPECT_NE(ParseDType(word).error().message.find(asked), std::string::npos) << word;
  }
  EXPECT_EQ(ParseDType("quux").error().message.find("did you mean"), std::string::npos);
}

}  // namespace
}  // namespace assay
