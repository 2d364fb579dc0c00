// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "golden/gemm/gemm_tile.cc"
#include "golden/gemm/gemm_tile.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sums stay in arrays of vectors, which types without a size cannot form.
#if HWY_HAVE_SCALABLE
#error \
    "golden/gemm/gemm_tile.cc needs vectors of a known size: leave this target out with HWY_DISABLED_TARGETS (CMakeLists.txt)"
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

// Asks for a block of a tile's array, which is far larger than a first-level cache, while the panel is summed.
template <int kRows, int64_t kColumns, class T>
HWY_INLINE void FetchBlock(const T* from, int64_t stride) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int r = 0; r < kRows; ++r) {
    for (int64_t i = 0; i < kColumns; i += kLine) hwy::Prefetch(from + r * stride + i);
  }
}

enum class Samples : uint8_t { kNone, kPanels, kAll };

template <Samples kSamples, int kRows>
HWY_INLINE void AddValues(const PanelProduct& p, const hn::Vec<Doubles> (&sums)[kRows][kBlockVectors], int64_t at) {
  constexpr bool kSums = kSamples == Samples::kAll, kPanels = kSamples != Samples::kNone;
  const Doubles d;
  const int64_t stride = RowStride(p.cols);
  double *value = p.value + at, *sum = p.sum + (kSums ? at : 0), *sum_squares = p.sum_squares + (kSums ? at : 0);
  double* panel_squares = p.panel_squares + (kPanels ? at : 0);
  const bool first = p.first;
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kBlockVectors; ++v) {
      const int64_t i = r * stride + v * LanesOf(d);
      const auto s = AddTo(d, value + i, sums[r][v], first);
      if constexpr (kPanels) AddTo(d, panel_squares + i, hn::Mul(sums[r][v], sums[r][v]), first);
      if constexpr (!kSums) continue;
      AddTo(d, sum + i, s, false);
      AddTo(d, sum_squares + i, hn::Mul(s, s), false);
    }
  }
}

// `a` and `b` are of the block: its rows and its packed columns; `at` is where it begins in the tile's arrays.
template <int kRows>
HWY_NOINLINE void AddBlock(const PanelProduct& p, const double* a, const double* b, int64_t at) {
  const Doubles d;
  const int64_t stride = RowStride(p.cols);
  FetchBlock<kRows, kValueColumns>(p.value + at, stride);
  for (const double* samples : {p.sum, p.sum_squares, p.panel_squares}) {
    if (samples != nullptr) FetchBlock<kRows, kValueColumns>(samples + at, stride);
  }
  hn::Vec<Doubles> sums[kRows][kBlockVectors];
  SumBlock<kRows, kBlockVectors>(d, a, b, p.width, sums);
  if (p.sum != nullptr) return AddValues<Samples::kAll>(p, sums, at);
  p.panel_squares != nullptr ? AddValues<Samples::kPanels>(p, sums, at) : AddValues<Samples::kNone>(p, sums, at);
}

// Sums a block of magnitudes in float.
template <int kRows>
HWY_NOINLINE void AddBlock(const PanelProduct& p, const float* a, const float* b, int64_t at) {
  const Floats d;
  const int64_t stride = RowStride(p.cols);
  float* magnitude = p.magnitude + at;
  const bool first = p.first_magnitude;
  FetchBlock<kRows, kMagnitudeColumns>(magnitude, stride);
  if (p.largest != nullptr) FetchBlock<kRows, kMagnitudeColumns>(p.largest + at, stride);
  hn::Vec<Floats> sums[kRows][kMagnitudeVectors];
  SumBlock<kRows, kMagnitudeVectors>(d, a, b, p.width, sums);
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kMagnitudeVectors; ++v) {
      AddTo(d, magnitude + r * stride + v * LanesOf(d), sums[r][v], first);
      if (p.largest == nullptr) continue;
      float* largest = p.largest + at + r * stride + v * LanesOf(d);
      hn::StoreU(p.first ? sums[r][v] : hn::Max(hn::LoadU(d, largest), sums[r][v]), d, largest);
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

// Packs one row of a for the block kernels: the numbers as double, and their magnitudes as float.
HWY_INLINE void CopyRow(const float* from, int64_t n, double* HWY_RESTRICT values, float* HWY_RESTRICT magnitudes) {
  const Doubles d;
  const hn::Rebind<float, Doubles> narrow;
  int64_t k = 0;
  for (; k + LanesOf(d) <= n; k += LanesOf(d)) {
    const auto x = hn::LoadU(narrow, from + k);
    hn::StoreU(hn::PromoteTo(d, x), d, values + k);
    hn::StoreU(hn::Abs(x), narrow, magnitudes + k);
  }
  for (; k < n; ++k) values[k] = from[k], magnitudes[k] = std::fabs(from[k]);
}

HWY_INLINE void CopyRow(const double* from, int64_t n, double* HWY_RESTRICT values, float* HWY_RESTRICT magnitudes) {
  for (int64_t k = 0; k < n; ++k) values[k] = from[k], magnitudes[k] = static_cast<float>(std::fabs(from[k]));
}

void AddPanelProductImpl(const PanelProduct& p) {
  // Copies: rows that are a power of two apart share few places of a cache.
  alignas(64) double values[kTileRows * kSigmaPanel];
  alignas(64) float magnitudes[kTileRows * kSigmaPanel];
  for (int64_t row = 0; row < p.rows; ++row) {
    const Numbers from = p.a + row * p.a_stride;
    double* to = values + row * kSigmaPanel;
    float* magnitudes_to = magnitudes + row * kSigmaPanel;
    from.floats != nullptr ? CopyRow(from.floats, p.width, to, magnitudes_to)
                           : CopyRow(from.doubles, p.width, to, magnitudes_to);
  }
  AddBlocks<kValueColumns>(p, values, p.b.values.data());
  if (p.magnitude != nullptr) AddBlocks<kMagnitudeColumns>(p, magnitudes, p.b.magnitudes.data());
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
