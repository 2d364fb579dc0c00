// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/own_rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

// The largest number of the format that is no larger than x in magnitude.
double TowardZero(const FloatFormat& format, double x) {
  const double nearest = RoundTo(format, x);
  return std::fabs(nearest) > std::fabs(x) ? std::copysign(std::fabs(nearest) - UlpAt(format, x), x) : nearest;
}

}  // namespace

RoundingReach ReachOf(const FloatFormat& format, OutputRounding rounding, bool flushes) {
  const double ulps = IsToNearest(rounding) ? 0.5 : 1;
  RoundingReach reach;
  reach.scale = ulps * std::ldexp(1.0, 1 - format.precision);
  // Half of double's smallest number is none.
  reach.floor = std::max(ulps * format.MinSubnormal(), std::numeric_limits<double>::denorm_min());
  reach.inward = rounding == OutputRounding::kTowardZero ? 0 : 1;
  reach.zero = flushes ? format.MinNormal() : reach.floor;
  reach.even = reach.inward == 1 && reach.zero == reach.floor;
  return reach;
}

RoundingReach ReachOfIntegers(OutputRounding rounding) {
  const double ulps = IsToNearest(rounding) ? 0.5 : 1;
  RoundingReach reach;
  reach.floor = reach.zero = ulps;
  reach.inward = rounding == OutputRounding::kTowardZero ? 0 : 1;
  reach.even = reach.inward == 1;
  return reach;
}

bool IsIntegerOf(OutputRounding rounding, double x, double got) {
  switch (rounding) {
    case OutputRounding::kNearest:
      return got == std::nearbyint(x);
    case OutputRounding::kNearestAway:
      return got == std::round(x);
    case OutputRounding::kTowardZero:
      return got == std::trunc(x);
    case OutputRounding::kAny:
      break;
  }
  return got == std::floor(x) || got == std::ceil(x);
}

bool IsRoundingOf(const FloatFormat& format, OutputRounding rounding, bool flushes, double x, double rest, double got) {
  if (flushes && got == 0 && std::fabs(x) < format.MinNormal()) return true;
  // Double's own format shows whether the rest points toward zero; in narrower ones x itself has been rounded to odd.
  const bool inward = rest != 0 && std::signbit(rest) != std::signbit(x);
  if (rounding == OutputRounding::kNearest) return got == RoundTo(format, x);
  if (rounding == OutputRounding::kNearestAway) return got == RoundTiesAway(format, x);
  const double cut = inward ? std::nextafter(x, 0.0) : TowardZero(format, x);
  if (got == cut) return true;
  if (rounding == OutputRounding::kTowardZero || (cut == x && rest == 0)) return false;
  return got == (inward ? x : cut + std::copysign(UlpAt(format, cut), x));
}

}  // namespace assay
