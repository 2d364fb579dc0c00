// SPDX-License-Identifier: Apache-2.0
// The output's own rounding. A result is right when it is the rounding of some real t in [y - A, y + A], so that its
// error may exceed A by as much as lies between the result and the last real on y's side that rounds to it: half the
// gap to the neighbour there for rounding to nearest, which below a power of two is a quarter of the gap above it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "harness/core/data/dtype.h"
#include "harness/core/model/contract.h"

namespace assay {

// This makes 2^k the largest number below it in double, and leaves every other number in its binade.
inline constexpr double kJustBelow = 1 - 0x1p-53;

struct RoundingReach {
  // Away from zero: `scale` times the result's binade, at least `floor`.
  double scale = 0, floor = 0;
  double inward = 1;  // toward zero, as a share of the same: 0 where digits are cut off
  double zero = 0;    // of a zero, either way
  bool even = true;   // nothing but the binade matters: inward is 1 and zero is floor

  // Reach at the finite number `got`, toward got - error.
  double Of(double got, double error) const;
};

// Without a branch on the signs, which are as good as random.
inline double RoundingReach::Of(double got, double error) const {
  const uint64_t outward = (std::bit_cast<uint64_t>(got) ^ std::bit_cast<uint64_t>(error)) >> 63;
  const double shrunk[] = {kJustBelow, 1}, share[] = {inward, 1};
  // The exponent field of x >= 0 read as a number: 2^floor(log2 x) for normal numbers, 0 below them.
  constexpr uint64_t kExponent = 0x7ff0'0000'0000'0000;
  const auto binade = std::bit_cast<uint64_t>(std::fabs(got) * shrunk[outward]) & kExponent;
  const double reach = share[outward] * std::max(std::bit_cast<double>(binade) * scale, floor);
  return got == 0 ? zero : reach;
}

// `flushes`: zero stands for every subnormal number. Cut off, the largest finite number has no limit above it; that is
// left to the rules of overflow, and so is the infinity that the other modes have there.
RoundingReach ReachOf(const FloatFormat& format, OutputRounding rounding, bool flushes);

// Reach for an output of integers.
RoundingReach ReachOfIntegers(OutputRounding rounding);
// Whether x makes the integer `got`.
bool IsIntegerOf(OutputRounding rounding, double x, double got);

// Whether `got` is what x makes, or what lies next to x on the side of `rest`'s sign: a sum whose rest a double does
// not hold. Precondition: |x| is in the format's range.
bool IsRoundingOf(const FloatFormat& format, OutputRounding rounding, bool flushes, double x, double rest, double got);

}  // namespace assay
