// SPDX-License-Identifier: Apache-2.0
// Codes of the 8- and 16-bit floating-point formats, branch-free so that loops over them vectorise.
// Encode: |x| + C with C = 2^52 q (q the spacing at x) rounds to nearest even once and leaves the integer m = |x| / q
// in the low bits; m plus the binade's number is the code, a carry into the next binade included.
#pragma once

#include <bit>
#include <cstdint>

namespace assay::internal {

inline constexpr uint64_t kSignBit = uint64_t{1} << 63;
inline constexpr uint64_t kInfinityBits = uint64_t{0x7FF} << 52;

// kOverflowAt: the smallest |x| that rounds past the largest finite number. kOverflow: the code that it then gets.
template <class CodeType, int kPrecision, int kMinExponent, uint64_t kOverflowBits, CodeType kOverflow, CodeType kNan>
struct NarrowFloat {
  using Code = CodeType;
  static constexpr int kFractionBits = kPrecision - 1;
  static constexpr int kWidth = 8 * sizeof(Code);
  static constexpr uint64_t kMinBinade = static_cast<uint64_t>(kMinExponent + 1023) << 52;
  static constexpr uint64_t kMaxBinade = kOverflowBits & kInfinityBits;

  static Code Encode(double x) {
    const uint64_t bits = std::bit_cast<uint64_t>(x);
    const uint64_t magnitude = bits & ~kSignBit;
    const uint64_t sign = (bits >> 63) << (kWidth - 1);
    uint64_t binade = magnitude & kInfinityBits;
    binade = binade < kMinBinade ? kMinBinade : binade;
    binade = binade > kMaxBinade ? kMaxBinade : binade;
    const double shifter = std::bit_cast<double>(binade + (uint64_t{52 - kFractionBits} << 52));
    const uint64_t sum = std::bit_cast<uint64_t>(std::bit_cast<double>(magnitude) + shifter);
    const uint64_t multiple = sum & ((uint64_t{1} << 52) - 1);
    uint64_t code = multiple + ((binade - kMinBinade) >> (52 - kFractionBits));
    code = magnitude >= kOverflowBits ? kOverflow : code;
    code = magnitude > kInfinityBits ? kNan : code;
    return static_cast<Code>(code | sign);
  }

  static double Decode(Code code) {
    constexpr uint64_t kMagnitude = (uint64_t{1} << (kWidth - 1)) - 1;
    constexpr double kSubnormalUnit = std::bit_cast<double>(kMinBinade - (uint64_t{kFractionBits} << 52));
    constexpr double kIntegers = 0x1p52;
    const uint64_t magnitude = code & kMagnitude;
    const uint64_t sign = static_cast<uint64_t>(code >> (kWidth - 1)) << 63;
    // A subnormal is an integer times the unit; 2^52 + integer is made by its bits, as no small integer conversion of
    // 64-bit lanes exists before AVX-512.
    const uint64_t integer_bits =
        std::bit_cast<uint64_t>(kIntegers) | (magnitude & ((uint64_t{1} << kFractionBits) - 1));
    const double subnormal = (std::bit_cast<double>(integer_bits) - kIntegers) * kSubnormalUnit;
    uint64_t bits = (magnitude << (52 - kFractionBits)) + kMinBinade - (uint64_t{1} << 52);
    bits = magnitude < (uint64_t{1} << kFractionBits) ? std::bit_cast<uint64_t>(subnormal) : bits;
    bits = magnitude >= kOverflow ? kInfinityBits : bits;
    bits = magnitude >= kFirstNan ? kInfinityBits | (uint64_t{1} << 51) : bits;
    return std::bit_cast<double>(bits | sign);
  }

  // With an infinity every code above it is a NaN; without one the overflow code itself is the NaN.
  static constexpr uint64_t kFirstNan = kOverflow == kNan ? uint64_t{kNan} : uint64_t{kOverflow} + 1;
};

using F16 = NarrowFloat<uint16_t, 11, -14, std::bit_cast<uint64_t>(65520.0), 0x7C00, 0x7E00>;
using BF16 = NarrowFloat<uint16_t, 8, -126, std::bit_cast<uint64_t>(0x1.FFp127), 0x7F80, 0x7FC0>;
// OCP OFP8: 464 is half-way between 448 and the NaN's place and goes to the even 448; anything above is NaN.
using E4M3 = NarrowFloat<uint8_t, 4, -6, std::bit_cast<uint64_t>(464.0) + 1, 0x7F, 0x7F>;
using E5M2 = NarrowFloat<uint8_t, 3, -14, std::bit_cast<uint64_t>(61440.0), 0x7C, 0x7E>;

}  // namespace assay::internal
