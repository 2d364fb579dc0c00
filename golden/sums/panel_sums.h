// SPDX-License-Identifier: Apache-2.0
// sigma of the orders in which a sum is usually added up (derived in golden/sigma.md). A sum with the running
// values s collects rounding errors of variance 0.425^2 u^2 E, E = sum s^2. The largest E is taken of
//   forward     64 sum s_p^2 over panel ends p, every 64 terms, the last panel with its true width,
//   backward    64 sum (y - s_p)^2, with s_0 = 0,
//   any random  y^2 + (K - 1) (y^2 / 3 + Q), but at most K ((S + |y|) / 2)^2, which no order exceeds. Q, the sum of the
//               squared terms, is the largest of sum (s_p - s_(p-1))^2, of 2.47 S^2 / K and of (M - m)^2, M the largest
//               magnitude that a panel has and m the mean one of the others.
// K = 1 gives 0.425 |y|.
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

// Sums gathered over n elements. Values are scaled by a power of two that keeps the squares of f64 data in range.
struct PanelSums {
  const double* sum;            // of s_p over all panel ends but the last
  const double* sum_squares;    // of their squares
  const double* panel_squares;  // of the squares of all panels' own sums
  const double* magnitude;      // S, not scaled
  const double* largest;        // the largest of the panels' own magnitudes, not scaled; 0 where it is not known
};

// sigma in units of u_acc of elements with the final values y.
void SigmaFromPanels(const double* y, const PanelSums& sums, const PanelShape& shape, double scale, double* sigma,
                     int64_t n);

// Computes sigma of one element from its panel ends. End() takes each of them, scaled, except the last. `squares` is Q,
// scaled, and is needed where terms of both signs could cancel inside a panel.
class PanelSampler {
 public:
  void End(double s) {
    const double panel = s - last_;
    sum_ += s, sum_squares_ += s * s, panel_squares_ += panel * panel;
    last_ = s;
  }
  double Sigma(double y, double magnitude, int64_t k, double scale = 1, double squares = 0) const;

 private:
  double sum_ = 0, sum_squares_ = 0, panel_squares_ = 0, last_ = 0;
};

// A power of two that brings values of up to `magnitude` to about 1, so that their squares neither overflow nor
// vanish. 1 for data that came from types narrower than f64.
double SquareScale(double magnitude);

}  // namespace assay
