// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "golden/gemm_tile.cc"
#include "golden/gemm_tile.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sums stay in arrays of vectors, which types without a size cannot form.
#if HWY_HAVE_SCALABLE
#error "golden/gemm_tile.cc needs vectors of a known size: leave this target out with HWY_DISABLED_TARGETS (CMakeLists.txt)"
#endif

// Rows and vectors of columns whose sums stay in registers.
constexpr int kBlockRows = 6;
#if HWY_TARGET <= HWY_AVX3
constexpr int kBlockVectors = 4;
#else
constexpr int kBlockVectors = 2;
#endif
using Doubles = hn::CappedTag<double, 8>;
using Floats = hn::CappedTag<float, 16>;
// Fewer sums than these would wait for each other: a fused operation takes four cycles, and two begin in each.
constexpr int kMagnitudeVectors = 2;

template <class D>
HWY_INLINE int64_t LanesOf(D d) {
  return static_cast<int64_t>(hn::Lanes(d));
}

constexpr int64_t kValueColumns = kBlockVectors * hn::MaxLanes(Doubles());
constexpr int64_t kMagnitudeColumns = kMagnitudeVectors * hn::MaxLanes(Floats());
static_assert(kWidestBlock % kValueColumns == 0 && kWidestBlock % kMagnitudeColumns == 0);

// Block by block of kColumns, each [width, kColumns]; missing columns are zero.
template <int64_t kColumns, class From, class T>
HWY_INLINE void PackBlocks(const From* b, int64_t stride, int64_t width, int64_t cols, T* to) {
  constexpr bool kMagnitudes = std::is_same_v<T, float>;
  const auto convert = [](From x) { return static_cast<T>(kMagnitudes ? std::fabs(x) : x); };
  for (int64_t j = 0; j < cols; j += kColumns) {
    const int64_t present = std::min(kColumns, cols - j);
    for (int64_t k = 0; k < width; ++k, to += kColumns) {
      const From* from = b + k * stride + j;
      if (present == kColumns) {
        for (int64_t i = 0; i < kColumns; ++i) to[i] = convert(from[i]);
        continue;
      }
      for (int64_t i = 0; i < present; ++i) to[i] = convert(from[i]);
      for (int64_t i = present; i < kColumns; ++i) to[i] = 0;
    }
  }
}

template <class From>
void PackPanelOf(const From* b, int64_t stride, int64_t width, int64_t cols, bool magnitudes, PackedPanel& to) {
  const auto size = static_cast<size_t>(width * RowStride(cols));
  to.values.resize(size);
  PackBlocks<kValueColumns>(b, stride, width, cols, to.values.data());
  if (!magnitudes) return;
  to.magnitudes.resize(size);
  PackBlocks<kMagnitudeColumns>(b, stride, width, cols, to.magnitudes.data());
}

void PackPanelImpl(Numbers b, int64_t stride, int64_t width, int64_t cols, bool magnitudes, PackedPanel& to) {
  b.floats != nullptr ? PackPanelOf(b.floats, stride, width, cols, magnitudes, to)
                      : PackPanelOf(b.doubles, stride, width, cols, magnitudes, to);
}

// sum_k a[r, k] b[k, .] for the rows and columns of a block.
template <int kRows, int kVectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void SumBlock(D d, const T* a, const T* b, int64_t width, hn::Vec<D> (&sums)[kRows][kVectors]) {
  for (auto& of_row : sums) {
    for (auto& v : of_row) v = hn::Zero(d);
  }
  for (int64_t k = 0; k < width; ++k, b += kVectors * LanesOf(d)) {
    hn::Vec<D> columns[kVectors];
    for (int v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, b + v * LanesOf(d));
    for (int r = 0; r < kRows; ++r) {
      const auto factor = hn::Set(d, a[r * kSigmaPanel + k]);
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

// `a` and `b` are of the block: its rows and its packed columns; `at` is where it begins in the tile's arrays.
template <int kRows>
HWY_NOINLINE void AddBlock(const PanelProduct& p, const double* a, const double* b, int64_t at) {
  const Doubles d;
  hn::Vec<Doubles> sums[kRows][kBlockVectors];
  SumBlock<kRows, kBlockVectors>(d, a, b, p.width, sums);
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

// The same of magnitudes.
template <int kRows>
HWY_NOINLINE void AddBlock(const PanelProduct& p, const float* a, const float* b, int64_t at) {
  const Floats d;
  hn::Vec<Floats> sums[kRows][kMagnitudeVectors];
  SumBlock<kRows, kMagnitudeVectors>(d, a, b, p.width, sums);
  for (int r = 0; r < kRows; ++r, at += RowStride(p.cols)) {
    for (int v = 0; v < kMagnitudeVectors; ++v) {
      AddTo(d, p.magnitude + at + v * LanesOf(d), sums[r][v], p.first_magnitude);
    }
  }
}

// A block of kRows rows, and those of fewer.
template <int kRows, class T>
void AddRows(const PanelProduct& p, const T* a, const T* b, int64_t rows, int64_t at) {
  if constexpr (kRows > 0) {
    if (rows < kRows) return AddRows<kRows - 1>(p, a, b, rows, at);
    AddBlock<kRows>(p, a, b, at);
  }
}

// The blocks of a tile; `a` holds kSigmaPanel numbers of each row.
template <int64_t kColumns, class T>
void AddBlocks(const PanelProduct& p, const T* a, const T* b) {
  for (int64_t column = 0; column < p.cols; column += kColumns, b += p.width * kColumns) {
    for (int64_t row = 0; row < p.rows; row += kBlockRows) {
      AddRows<kBlockRows>(p, a + row * kSigmaPanel, b, p.rows - row, row * RowStride(p.cols) + column);
    }
  }
}

void AddPanelProductImpl(const PanelProduct& p) {
  // Copies: rows that are a power of two apart share few places of a cache.
  alignas(64) double values[kTileRows * kSigmaPanel];
  for (int64_t row = 0; row < p.rows; ++row) {
    const Numbers from = p.a + row * p.a_stride;
    double* to = values + row * kSigmaPanel;
    from.floats != nullptr ? std::copy_n(from.floats, p.width, to) : std::copy_n(from.doubles, p.width, to);
  }
  AddBlocks<kValueColumns>(p, values, p.b.values.data());
  if (p.magnitude == nullptr) return;
  alignas(64) float magnitudes[kTileRows * kSigmaPanel];
  for (int64_t row = 0; row < p.rows; ++row) {
    const double* from = values + row * kSigmaPanel;
    for (int64_t k = 0; k < p.width; ++k) magnitudes[row * kSigmaPanel + k] = static_cast<float>(std::fabs(from[k]));
  }
  AddBlocks<kMagnitudeColumns>(p, magnitudes, p.b.magnitudes.data());
}

}  // namespace HWY_NAMESPACE
}  // namespace assay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay {

HWY_EXPORT(PackPanelImpl);
HWY_EXPORT(AddPanelProductImpl);

void PackPanel(Numbers b, int64_t stride, int64_t width, int64_t cols, bool magnitudes, PackedPanel& to) {
  HWY_DYNAMIC_DISPATCH(PackPanelImpl)(b, stride, width, cols, magnitudes, to);
}

void AddPanelProduct(const PanelProduct& panel) {
  HWY_DYNAMIC_DISPATCH(AddPanelProductImpl)(panel);
}

}  // namespace assay
#endif  // HWY_ONCE
