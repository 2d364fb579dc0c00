// SPDX-License-Identifier: Apache-2.0
// The inner kernel: a block of rows of A times one column tile of B over one panel of k. Each element's products
// are added one after the other in ascending k, whatever the vector width.
#pragma once

#include <cstdint>

namespace cpu {

inline constexpr int64_t kTileRows = 4;
inline constexpr int64_t kTileColumns = 32;

// out[r, j] (+)= sum over p < k of a[r, p] * b[p, j], for r < rows and j < kTileColumns.
// a has row stride lda; b is packed with row stride kTileColumns; rows is a multiple of kTileRows. `add`: onto out.
template <class T>
struct PanelProduct {
  const T* a;
  int64_t lda;
  const T* b;
  int64_t rows, k;
  T* out;
  int64_t ldo;
  bool add;
};

void MultiplyPanel(const PanelProduct<double>& p);
void MultiplyPanel(const PanelProduct<float>& p);
void MultiplyPanel(const PanelProduct<int32_t>& p);

}  // namespace cpu
