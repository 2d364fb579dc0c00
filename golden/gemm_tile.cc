// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "golden/gemm_tile.cc"
#include "golden/gemm_tile.h"

#include <algorithm>
#include <cmath>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sums stay in arrays of vectors, which types without a size cannot form.
#if HWY_HAVE_SCALABLE
#error "golden/gemm_tile.cc needs vectors of a known size: leave this target out with HWY_DISABLED_TARGETS"
#endif

// Rows and vectors of columns whose sums stay in registers. A block's columns divide RowStride().
constexpr int kBlockRows = 6;
#if HWY_TARGET <= HWY_AVX3
constexpr int kBlockVectors = 4;
#else
constexpr int kBlockVectors = 2;
#endif
using Doubles = hn::CappedTag<double, 8>;
using Floats = hn::CappedTag<float, 16>;
// Of twice the lanes, except where vectors have a single one.
constexpr int kMagnitudeVectors = HWY_TARGET == HWY_SCALAR ? kBlockVectors : kBlockVectors / 2;
static_assert(kMagnitudeVectors * hn::MaxLanes(Floats()) == kBlockVectors * hn::MaxLanes(Doubles()));

template <class D>
HWY_INLINE int64_t LanesOf(D d) {
  return static_cast<int64_t>(hn::Lanes(d));
}

HWY_INLINE int64_t BlockColumns() {
  return kBlockVectors * LanesOf(Doubles());
}

// Block by block, each [width, columns of a block]; missing columns are zero.
template <class T, class Convert>
HWY_INLINE void PackBlocks(const double* b, int64_t stride, int64_t width, int64_t cols, T* to,
                           const Convert& convert) {
  const int64_t columns = BlockColumns();
  for (int64_t j = 0; j < cols; j += columns) {
    for (int64_t k = 0; k < width; ++k, to += columns) {
      const double* from = b + k * stride + j;
      const int64_t present = std::min(columns, cols - j);
      for (int64_t i = 0; i < present; ++i) to[i] = convert(from[i]);
      for (int64_t i = present; i < columns; ++i) to[i] = 0;
    }
  }
}

void PackPanelImpl(const double* b, int64_t stride, int64_t width, int64_t cols, bool magnitudes, PackedPanel& to) {
  const auto size = static_cast<size_t>(width * RowStride(cols));
  to.values.resize(size);
  PackBlocks(b, stride, width, cols, to.values.data(), [](double x) { return x; });
  if (!magnitudes) return;
  to.magnitudes.resize(size);
  PackBlocks(b, stride, width, cols, to.magnitudes.data(), [](double x) { return static_cast<float>(std::fabs(x)); });
}

// sum_k a[r, k] b[k, .] for the rows and columns of a block.
template <int kRows, int kVectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void SumBlock(D d, const T* a, int64_t a_stride, const T* b, int64_t width,
                         hn::Vec<D> (&sums)[kRows][kVectors]) {
  for (auto& of_row : sums) {
    for (auto& v : of_row) v = hn::Zero(d);
  }
  for (int64_t k = 0; k < width; ++k, b += kVectors * LanesOf(d)) {
    hn::Vec<D> columns[kVectors];
    for (int v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, b + v * LanesOf(d));
    for (int r = 0; r < kRows; ++r) {
      const auto factor = hn::Set(d, a[r * a_stride + k]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(factor, columns[v], sums[r][v]);
    }
  }
}

template <class D>
HWY_INLINE hn::Vec<D> AddTo(D d, hn::TFromD<D>* to, hn::Vec<D> v, bool first) {
  const auto total = first ? v : hn::Add(hn::LoadU(d, to), v);
  hn::StoreU(total, d, to);
  return total;
}

// `b` and `at` are of the block: its packed columns, and where it begins in the tile's arrays.
template <int kRows>
HWY_NOINLINE void AddValues(const PanelProduct& p, int64_t row, const double* b, int64_t at) {
  const Doubles d;
  hn::Vec<Doubles> sums[kRows][kBlockVectors];
  SumBlock<kRows, kBlockVectors>(d, p.a + row * p.a_stride, p.a_stride, b, p.width, sums);
  for (int r = 0; r < kRows; ++r, at += RowStride(p.cols)) {
    for (int v = 0; v < kBlockVectors; ++v) {
      const int64_t i = at + v * LanesOf(d);
      const auto value = AddTo(d, p.value + i, sums[r][v], p.first);
      if (p.sum == nullptr) continue;
      AddTo(d, p.sum + i, value, false);
      AddTo(d, p.sum_squares + i, hn::Mul(value, value), false);
    }
  }
}

template <int kRows>
HWY_NOINLINE void AddMagnitudes(const PanelProduct& p, const float* a, const float* b, int64_t at) {
  const Floats d;
  hn::Vec<Floats> sums[kRows][kMagnitudeVectors];
  SumBlock<kRows, kMagnitudeVectors>(d, a, kSigmaPanel, b, p.width, sums);
  for (int r = 0; r < kRows; ++r, at += RowStride(p.cols)) {
    for (int v = 0; v < kMagnitudeVectors; ++v) {
      AddTo(d, p.magnitude + at + v * LanesOf(d), sums[r][v], p.first_magnitude);
    }
  }
}

// A block of kRows rows, and those of fewer.
template <int kRows>
void AddBlock(const PanelProduct& p, const float* magnitudes, int64_t row, int64_t rows, int64_t column) {
  if constexpr (kRows > 0) {
    if (rows < kRows) return AddBlock<kRows - 1>(p, magnitudes, row, rows, column);
    const int64_t at = row * RowStride(p.cols) + column, packed = p.width * column;
    AddValues<kRows>(p, row, p.b.values.data() + packed, at);
    if (p.magnitude == nullptr) return;
    AddMagnitudes<kRows>(p, magnitudes + row * kSigmaPanel, p.b.magnitudes.data() + packed, at);
  }
}

void AddPanelProductImpl(const PanelProduct& p) {
  float magnitudes[kTileRows * kSigmaPanel];
  for (int64_t row = 0; p.magnitude != nullptr && row < p.rows; ++row) {
    const double* a = p.a + row * p.a_stride;
    for (int64_t k = 0; k < p.width; ++k) magnitudes[row * kSigmaPanel + k] = static_cast<float>(std::fabs(a[k]));
  }
  for (int64_t column = 0; column < p.cols; column += BlockColumns()) {
    for (int64_t row = 0; row < p.rows; row += kBlockRows) {
      AddBlock<kBlockRows>(p, magnitudes, row, p.rows - row, column);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(PackPanelImpl);
HWY_EXPORT(AddPanelProductImpl);

void PackPanel(const double* b, int64_t stride, int64_t width, int64_t cols, bool magnitudes, PackedPanel& to) {
  HWY_DYNAMIC_DISPATCH(PackPanelImpl)(b, stride, width, cols, magnitudes, to);
}

void AddPanelProduct(const PanelProduct& panel) {
  HWY_DYNAMIC_DISPATCH(AddPanelProductImpl)(panel);
}

}  // namespace assay
#endif  // HWY_ONCE
