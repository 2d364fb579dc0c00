// SPDX-License-Identifier: Apache-2.0
// The inner loops of the fast tier's products: one tile of the output and one panel of k at a time. Values are summed
// in double, magnitudes in float.
#pragma once

#include <cstdint>
#include <vector>

#include "golden/golden.h"

namespace assay {

// Small enough for a tile's arrays and a panel of both factors to stay in a second-level cache of 512 KB.
inline constexpr int64_t kTileRows = 96, kTileCols = 128;
inline constexpr int64_t kWidestBlock = 32;  // columns whose sums are in registers together

// The columns of a tile's arrays: a tile's, rounded up.
inline int64_t RowStride(int64_t cols) {
  return (cols + kWidestBlock - 1) / kWidestBlock * kWidestBlock;
}

// A panel of b, [width, cols], in the order in which it is read, and its magnitudes.
struct PackedPanel {
  std::vector<double> values;
  std::vector<float> magnitudes;
};
// Consecutive numbers of an operand: doubles, or floats that are widened where they are read.
struct Numbers {
  const double* doubles = nullptr;
  const float* floats = nullptr;
  Numbers operator+(int64_t i) const { return floats != nullptr ? Numbers{nullptr, floats + i} : Numbers{doubles + i}; }
};

// width <= kSigmaPanel, cols <= kTileCols; `stride` elements from one row to the next. Magnitudes where asked for.
void PackPanel(Numbers b, int64_t stride, int64_t width, int64_t cols, bool magnitudes, PackedPanel& to);

// a b for a [rows, width], rows <= kTileRows, and b as packed. Each element sums its panel in the order of k and adds
// that to what is there; products of factors of up to 26 bits are exact, so that fused and other instructions agree.
struct PanelProduct {
  Numbers a;
  int64_t a_stride;
  const PackedPanel& b;
  int64_t rows, cols, width;
  bool first;                     // the values begin here
  bool first_magnitude;           // the magnitudes do
  double* value;                  // [rows, RowStride(cols)], as all that follow
  double* sum = nullptr;          // adds the new values; null: neither this nor the next
  double* sum_squares = nullptr;  // adds their squares
  double* panel_squares =
      nullptr;                 // adds the squares of what is added to the values; null: not wanted, nor are the sums
  float* magnitude = nullptr;  // adds |a| |b|; null: not wanted, nor is the next
  float* largest = nullptr;    // the largest that is added to the magnitudes; null: not wanted
};
void AddPanelProduct(const PanelProduct& panel);

}  // namespace assay
