// SPDX-License-Identifier: Apache-2.0
// Systematic loss of a sum whose terms have one sign, when some of them are as small as its rounding. The running sum
// lies on a grid of spacing h <= 2 u times the sum: a term far below h is lost whole, one x of smooth data above it
// errs by h^2 / (8 x) in the mean (golden/bound/bound.h, AddGridBias, with the density of x falling within x). The
// statistic takes that as systematic. A few dominating terms make it large: the row sums of exp(x) with an outlier.
#pragma once

#include <span>

#include "golden/bound/bound.h"

namespace assay {

// The u that golden values assume: of the accumulators that operands of such a type have. Others of a smaller u lose
// less, and are not granted it.
inline double LostTermsRoundoff(bool f64) {
  return f64 ? 0x1p-53 : 0x1p-24;
}

// Relative to the sum of terms, of which `parts` are the shares: the sum of min(y, u^2 / (2 y)).
double LostShare(std::span<const double> parts, double u);

// Lets the statistic take the plane as systematic; `lost` may be null or empty: nothing is lost then.
void AddLostTerms(const Plane* lost, double plane_u, const Contract& contract, BoundModel& bound);

}  // namespace assay
