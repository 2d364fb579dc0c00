// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/corpus/fused_unit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace corpus {
namespace {

constexpr int kNoExponent = -1000;

// Exponent for a significand in [1, 2); subnormals of f32 have that of its smallest normal.
int ExponentOf(float x) {
  const int field = static_cast<int>((std::bit_cast<uint32_t>(x) >> 23) & 0xFF);
  return std::max(field, 1) - 127;
}

double PowerOfTwo(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// Truncates toward zero. A value beyond f32 becomes an infinity, as in the units.
float TruncatedToFloat(double x) {
  const float nearest = static_cast<float>(x);
  if (std::abs(static_cast<double>(nearest)) <= std::abs(x) || !std::isfinite(x)) return nearest;
  if (std::isinf(nearest))
    return std::abs(x) < 0x1p128 ? std::copysign(std::numeric_limits<float>::max(), nearest) : nearest;
  return std::nextafter(nearest, 0.0f);
}

float CutTo(int bits, float x) {
  const uint32_t kept = ~((uint32_t{1} << (24 - bits)) - 1);
  return std::isfinite(x) ? std::bit_cast<float>(std::bit_cast<uint32_t>(x) & kept) : x;
}

struct Block {
  int exponent = kNoExponent;  // largest of the products, before normalisation
  double plain = 0;            // their sum by IEEE's rules, for what is not finite
};

Block Inspect(const float* a, const float* b, int64_t count) {
  Block block;
  for (int64_t i = 0; i < count; ++i) {
    const double product = static_cast<double>(a[i]) * b[i];
    block.plain += product;
    if (product != 0) block.exponent = std::max(block.exponent, ExponentOf(a[i]) + ExponentOf(b[i]));
  }
  return block;
}

// The products in units of 2^-scale_exponent, each truncated.
int64_t AlignedSum(const float* a, const float* b, int64_t count, double scale) {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<int64_t>(static_cast<double>(a[i]) * b[i] * scale);
  return sum;
}

float Step(const FusedUnit& unit, const float* a, const float* b, int64_t count, float carry) {
  const Block block = Inspect(a, b, count);
  const double plain = block.plain + carry;
  if (!std::isfinite(plain)) return static_cast<float>(plain);
  const int carry_exponent = carry == 0 ? kNoExponent : ExponentOf(carry);
  const int largest = std::max(block.exponent, carry_exponent);
  if (largest == kNoExponent) return carry;
  if (!unit.adds_carry_apart) {
    const double scale = PowerOfTwo(unit.fraction_bits - largest);
    const int64_t sum = AlignedSum(a, b, count, scale) + static_cast<int64_t>(carry * scale);
    const double aligned = static_cast<double>(sum) * PowerOfTwo(largest - unit.fraction_bits);
    return CutTo(unit.result_bits, TruncatedToFloat(aligned));
  }
  if (block.exponent == kNoExponent) return carry;
  const double aligned = static_cast<double>(AlignedSum(a, b, count, PowerOfTwo(unit.fraction_bits - block.exponent))) *
                         PowerOfTwo(block.exponent - unit.fraction_bits);
  const double scale = PowerOfTwo(unit.fraction_bits - largest), unscale = PowerOfTwo(largest - unit.fraction_bits);
  return static_cast<float>((std::floor(aligned * scale) + std::floor(carry * scale)) * unscale);
}

}  // namespace

float FusedDot(const FusedUnit& unit, const float* a, const float* b, int64_t k) {
  float sum = 0;
  for (int64_t i = 0; i < k; i += unit.block) sum = Step(unit, a + i, b + i, std::min<int64_t>(unit.block, k - i), sum);
  return sum;
}

}  // namespace corpus
