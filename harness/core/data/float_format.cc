// SPDX-License-Identifier: Apache-2.0
// Rounding of a double to a narrower format, in double arithmetic: adding C = 2^52 q to |x|, where q is the format's
// spacing at x, leaves no bits below q, so the addition itself rounds to nearest even; subtracting C is exact.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "harness/core/base/multiversion.h"  // refuses -ffast-math
#include "harness/core/data/dtype.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Layout of double. Its bits are used instead of the C library, because judging asks for both functions at every
// element.
constexpr int kBias = 1023, kFractionBits = 52, kExponentMask = 0x7ff;

double PowerOfTwo(int exponent) {
  if (exponent <= -kBias || exponent > kBias) return std::ldexp(1.0, exponent);
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + kBias) << kFractionBits);
}

// Exponent of the binade in which the format's spacing at finite x is taken: subnormals share the lowest normal's.
// Subnormals of double lie below every format's normal numbers, so reading the exponent field suffices.
int BinadeOf(const FloatFormat& format, double x) {
  const int biased = static_cast<int>(std::bit_cast<uint64_t>(x) >> kFractionBits) & kExponentMask;
  return std::max(biased - kBias, format.min_exponent);
}

}  // namespace

double FloatFormat::UnitRoundoff() const {
  return PowerOfTwo(-precision);
}

double FloatFormat::MinNormal() const {
  return PowerOfTwo(min_exponent);
}

double FloatFormat::MinSubnormal() const {
  return PowerOfTwo(min_exponent - precision + 1);
}

double FloatFormat::OverflowThreshold() const {
  if (max_finite == std::numeric_limits<double>::max()) return kInfinity;
  const double spacing = PowerOfTwo(std::ilogb(max_finite) - precision + 1);
  const double midpoint = max_finite + spacing / 2;
  // The tie goes to the even neighbour. That is past max_finite in the IEEE formats; e4m3 spends the odd last code on
  // NaN, so 448 is even and 464 still rounds to it.
  const bool max_is_odd = static_cast<int64_t>(max_finite / spacing) % 2 != 0;
  return max_is_odd ? midpoint : std::nextafter(midpoint, kInfinity);
}

double RoundTo(const FloatFormat& format, double x) {
  if (format.precision >= 53 || std::isnan(x)) return x;
  const double magnitude = std::fabs(x);
  // The threshold is larger; computing it takes longer than the rest.
  if (magnitude > format.max_finite && magnitude >= format.OverflowThreshold())
    return format.has_infinity ? std::copysign(kInfinity, x) : kNaN;
  const double shifter = PowerOfTwo(BinadeOf(format, x) - format.precision + 1 + 52);
  return std::copysign((magnitude + shifter) - shifter, x);
}

double RoundTiesAway(const FloatFormat& format, double x) {
  const double even = RoundTo(format, x), below = std::fabs(even), magnitude = std::fabs(x);
  if (!(below < magnitude)) return even;
  const double above = below + UlpAt(format, below);
  return magnitude - below == above - magnitude ? RoundTo(format, std::copysign(above, x)) : even;
}

double UlpAt(const FloatFormat& format, double x) {
  if (std::isnan(x)) return kNaN;
  // Beyond the largest number the format has no spacing of its own: that of its last binade.
  const double magnitude = std::min(std::fabs(x), format.max_finite);
  return PowerOfTwo(BinadeOf(format, magnitude) - format.precision + 1);
}

}  // namespace assay
