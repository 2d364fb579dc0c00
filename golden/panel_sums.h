// SPDX-License-Identifier: Apache-2.0
// sigma from partial sums at panel ends (VERDICT.md 3). A sum whose running value is s at K additions collects
// rounding errors of variance 0.425^2 u^2 sum s^2. The running value is sampled every 64 terms, so
//   forward  = 64 sum s_p^2 over full panel ends,         backward = 64 sum (y - s_p)^2 with s_0 = 0,
// the last panel with its true width: K = 1 gives 0.425 |y|. The larger of both orders is taken.
#pragma once

#include <cstdint>

#include "golden/golden.h"

namespace assay {

// The sums gathered for one element at the ends of all panels but the last.
struct PanelShape {
  explicit PanelShape(int64_t k)
      : inner(k > 0 ? (k - 1) / kSigmaPanel : 0),
        last(static_cast<double>(k - inner * kSigmaPanel)),
        first(inner > 0 ? static_cast<double>(kSigmaPanel) : last) {}
  int64_t inner;  // panel ends before the last one
  double last;    // width of the last panel
  double first;   // width of the first panel
};

// sum += s, sum_squares += s^2, for n elements.
void AccumulatePanelEnd(const double* s, double* sum, double* sum_squares, int64_t n);

// sigma in units of u_acc from final values y and the two sums, which hold values times `scale` (a power of two that
// keeps the squares of f64 data in range; 1 otherwise).
void SigmaFromPanels(const double* y, const double* sum, const double* sum_squares, const PanelShape& shape,
                     double scale, double* sigma, int64_t n);

// A power of two that brings values of up to `magnitude` to about 1, so that their squares neither overflow nor
// vanish. 1 for data that came from types narrower than f64.
double SquareScale(double magnitude);

}  // namespace assay
