// SPDX-License-Identifier: Apache-2.0
// Pairs compared by the ranks of their differences, without an assumption about their size. Where two equal things are
// measured in random order, every difference is as likely to be negative: all 2^n patterns of signs are equally likely,
// whatever the machine did meanwhile.
//
// The ranks are Wilcoxon's (1945), Winsorised at the middle: the larger half of the differences count alike. Rounds on
// a machine that does other work are mostly good to a percent or two, and sometimes off by a third; with full ranks
// those few would weigh most.
#pragma once

#include <cstddef>
#include <span>

#include "reports/compare/rank_sum.h"

namespace assay {

struct SignedRankTest {
  double p_greater = 1;  // chance of signs that speak as much for "above zero" where both are equally likely
  double p_less = 1;     // likewise for "below zero"
};

// Exact up to 60 differences, ties and zeros included; beyond, the normal approximation with a correction for
// continuity. Precondition: not empty.
SignedRankTest SignedRanks(std::span<const double> differences);

// The smallest p that n differences can reach.
double SmallestSignedRankP(size_t n);

// The centre that the test would least reject, and the interval of those that it would not, one half of 1 - confidence
// on each side; equal to the estimate where there are too few. Precondition: not empty.
ShiftEstimate EstimateCentre(std::span<const double> differences, double confidence);

}  // namespace assay
