// SPDX-License-Identifier: Apache-2.0
// Two samples compared by ranks (Mann and Whitney 1947), without an assumption about the shape of their noise.
#pragma once

#include <span>
#include <vector>

namespace assay {

struct RankSumTest {
  double u = 0;          // pairs (a, b) with b > a; ties count one half
  double p_greater = 1;  // chance of a u at least as large where a and b are draws of one distribution: b is larger
  double p_less = 1;     // of one at most as large: b is smaller
};

// Exact up to 40 values in all, ties included (all ways to deal the observed ranks); beyond, the normal approximation
// with corrections for ties and continuity. Precondition: neither is empty.
RankSumTest MannWhitney(std::span<const double> a, std::span<const double> b);

// The smallest p that n values of a and m of b can reach: one over the number of ways to deal them.
double SmallestRankSumP(size_t n, size_t m);

// The median of all differences b - a (Hodges and Lehmann 1963), and the interval between those whose ranks the
// distribution of u gives; equal to the estimate where the samples are too small for this confidence.
struct ShiftEstimate {
  double shift = 0, low = 0, high = 0;
  bool bounded = false;
};
ShiftEstimate EstimateShift(std::span<const double> a, std::span<const double> b, double confidence);

// Selects hypotheses to reject so that the expected share of false ones among them is at most `rate` (Benjamini and
// Hochberg 1995). If none is true, the chance of rejecting any is at most `rate` as well.
std::vector<bool> BenjaminiHochberg(std::span<const double> p, double rate);

// Selects hypotheses to reject so that the chance of any false one is at most `rate`, however they depend on each other
// (Holm 1979).
std::vector<bool> Holm(std::span<const double> p, double rate);

}  // namespace assay
