// SPDX-License-Identifier: Apache-2.0
#include "golden/element.h"

#include <algorithm>
#include <cmath>

#include "harness/core/data/infinity.h"

namespace assay {

void ReadPlane(const Plane& plane, int64_t first, int64_t values, std::span<double> to) {
  if (plane.empty()) return std::fill(to.begin(), to.end(), 0.0);
  if (plane.size() == values) return plane.Read(first, to);
  for (size_t i = 0; i < to.size(); ++i) to[i] = PlaneAt(plane, first + static_cast<int64_t>(i), values);
}

PartialOverflow PartialOverflowAt(const BoundModel& bound, const Golden& golden, int64_t i) {
  const double y = golden.value[static_cast<size_t>(i)], magnitude = PlaneAt(golden.magnitude, i, golden.size());
  const auto reaches = [&](double terms) { return bound.growth * terms >= bound.partial_overflow_at; };
  if (!reaches(magnitude)) return {};
  if (bound.partial_signs == PartialSigns::kNonNegative) return {.up = true};
  // Where S leaves double's range, the planes of golden/sums/scaled_sum.h have what terms of either sign add.
  const Plane *positive = golden.Extra("positive_terms"), *negative = golden.Extra("negative_terms");
  const bool known = positive != nullptr && negative != nullptr && (*positive)[i] + (*negative)[i] > 0;
  if (known && bound.partial_signs == PartialSigns::kOfTerms) {
    return {.up = reaches((*positive)[i]), .down = reaches((*negative)[i])};
  }
  // Beside an infinite term y is no sum of the others.
  if (bound.partial_signs == PartialSigns::kEither || !std::isfinite(y) || magnitude == kInfinity) {
    return {.up = true, .down = true};
  }
  const double error = PlaneAt(golden.error, i, golden.size());
  return {.up = reaches(0.5 * (magnitude + y + error)), .down = reaches(0.5 * (magnitude - y + error))};
}

}  // namespace assay
