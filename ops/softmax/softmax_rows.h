// SPDX-License-Identifier: Apache-2.0
// Loops over stretches of softmax's rows (lanes.h).
#pragma once

#include <cstdint>
#include <span>

namespace assay {

// Terms that are worked on at a time: their arrays stay in the second-level cache, which long rows do not. A multiple
// of kSigmaPanel.
inline constexpr int64_t kSoftmaxStretch = 2048;

// The largest number; NaN where a NaN or +inf is among them.
double LargestTerm(std::span<const double> x);

double SumOfProducts(std::span<const double> a, std::span<const double> b);

struct SquaredSums {
  double weighted = 0;  // sum e d
  double squares = 0;   // sum e^2 (variance + d^2)
};
// Adds to `sums`; panels[p] becomes the sum of e over the p-th kSigmaPanel terms.
void SumPanels(std::span<const double> e, std::span<const double> d, double variance, double* panels,
               SquaredSums& sums);

}  // namespace assay
