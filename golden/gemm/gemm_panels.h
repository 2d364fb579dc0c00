// SPDX-License-Identifier: Apache-2.0
// The work unit of the reproducible engine: four rows of a times one panel of eight columns of b, which is stored
// contiguously as [k][8].
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace assay {

inline constexpr int64_t kStripRows = 4, kPanelCols = 8;

struct StripInput {
  const double* a[kStripRows];  // k values each; a missing row repeats another one
  const double* b;              // [k][kPanelCols]
  int64_t k;
  bool exact_products;  // factors of at most 26 bits: products have no error term
};

struct alignas(64) StripSums {
  double hi[kStripRows][kPanelCols], lo[kStripRows][kPanelCols], mag[kStripRows][kPanelCols];
  double sum[kStripRows][kPanelCols], sum_squares[kStripRows][kPanelCols];  // these four start at zero
  double panel_squares[kStripRows][kPanelCols], last[kStripRows][kPanelCols];
  double largest[kStripRows][kPanelCols], last_mag[kStripRows][kPanelCols];  // of the panels' magnitudes; start at zero
  double scale[kStripRows][kPanelCols];   // input of SumStrip: of the samples for sigma
  double anchor[kStripRows][kPanelCols];  // input of AnchorStrip (gemm_anchor.h)
};

void SumStrip(const StripInput& in, StripSums& out);        // everything, in double-double
void MagnitudeStrip(const StripInput& in, StripSums& out);  // mag alone

// Adds a sample of some columns' running sums to `sum`, `sum_squares` and, by its distance from the one before,
// `panel_squares`; one of their magnitudes so far to `largest`.
inline void AddSamples(const double* samples, const double* magnitudes, size_t count, size_t row, size_t first,
                       StripSums& out) {
  for (size_t i = 0; i < count; ++i) {
    const double s = samples[i], panel = s - out.last[row][first + i];
    out.sum[row][first + i] += s;
    out.sum_squares[row][first + i] += s * s;
    out.panel_squares[row][first + i] += panel * panel;
    out.last[row][first + i] = s;
    double& last_mag = out.last_mag[row][first + i];
    out.largest[row][first + i] = std::max(out.largest[row][first + i], magnitudes[i] - last_mag);
    last_mag = magnitudes[i];
  }
}

}  // namespace assay
