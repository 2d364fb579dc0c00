// SPDX-License-Identifier: Apache-2.0
// Products in tiles of the output. Over K a tile goes panel by panel, so that partial sums can be sampled; its running
// arrays stay in the second-level cache. The order of the additions is fixed, so that the bits do not depend on
// the number of threads, and those of values not on the instruction set either.
#include <algorithm>
#include <atomic>
#include <vector>

#include "golden/big_buffer.h"
#include "golden/bound/bound.h"
#include "golden/gemm/gemm_engine.h"
#include "golden/gemm/gemm_tile.h"
#include "golden/sums/panel_sums.h"
#include "harness/core/base/float_environment.h"
#include "harness/core/base/parallel.h"

namespace assay {
namespace {

// Magnitudes are summed in float over this many terms, then in double: gamma_2048(2^-24) = 1.2e-4.
constexpr int64_t kMagnitudeBlock = 2048;
static_assert(kMagnitudeBlock % kSigmaPanel == 0);
// Up to this K a thread keeps the columns of b packed from one tile to the one below: 3 MB.
constexpr int64_t kKeptTerms = 1024;

struct Tile {
  int64_t batch, row, col, rows, cols;
};

Numbers NumbersOf(const GemmOperand& operand) {
  return {operand.values.data(), operand.floats.data()};
}

struct Problem {
  const GemmOperand& a;
  const GemmOperand& b;
  int64_t m, n, k;
  bool sigma, magnitude;  // wanted; magnitudes only where float can neither overflow nor underflow
  uint64_t number;        // of this call

  Numbers A(const Tile& t) const { return NumbersOf(a) + (t.batch * m + t.row) * k; }
  Numbers B(const Tile& t) const { return NumbersOf(b) + (t.batch * k * n + t.col); }
};

// Per thread, kept between tiles and calls. Rows of a tile are RowStride(cols) apart.
struct Workspace {
  BigBuffer<double> value, sum, sum_squares, panel_squares, magnitude, panel, sigma;  // rows begin with a cache line
  BigBuffer<float> block, largest;
  std::vector<PackedPanel> panels;  // of the columns below
  uint64_t number = 0;              // of the call that they belong to
  int64_t batch = 0, col = 0;

  void Reserve() {
    constexpr size_t kSize = kTileRows * kTileCols;
    // Zeros once: between the last column and the next row's beginning stands what no result depends on.
    for (auto* v : {&value, &sum, &sum_squares, &panel_squares, &magnitude, &panel, &sigma}) v->resize(kSize, 0);
    for (auto* v : {&block, &largest}) v->resize(kSize, 0);
  }
};

// The panel of b from term k0 on.
const PackedPanel& PanelOf(const Problem& p, const Tile& t, int64_t k0, int64_t width, Workspace& w) {
  const bool kept = p.k <= kKeptTerms;
  const auto at = static_cast<size_t>(kept ? k0 / kSigmaPanel : 0);
  if (w.panels.size() <= at) w.panels.resize(at + 1);
  const bool known = kept && w.number == p.number && w.batch == t.batch && w.col == t.col;
  if (!known) PackPanel(p.B(t) + k0 * p.n, p.n, width, t.cols, p.magnitude, w.panels[at]);
  return w.panels[at];
}

// Values, magnitudes, the sums of s and s^2 over all panel ends but the last, and the panels' squares.
void SumPanels(const Problem& p, const Tile& t, Workspace& w) {
  const int64_t size = t.rows * RowStride(t.cols);
  for (auto* v : {&w.sum, &w.sum_squares, &w.magnitude}) std::fill_n(v->begin(), size, 0.0);
  for (int64_t k0 = 0; k0 < p.k; k0 += kSigmaPanel) {
    const int64_t width = std::min(kSigmaPanel, p.k - k0), end = k0 + width;
    const bool inner = p.sigma && end < p.k;
    AddPanelProduct({.a = p.A(t) + k0,
                     .a_stride = p.k,
                     .b = PanelOf(p, t, k0, width, w),
                     .rows = t.rows,
                     .cols = t.cols,
                     .width = width,
                     .first = k0 == 0,
                     .first_magnitude = k0 % kMagnitudeBlock == 0,
                     .value = w.value.data(),
                     .sum = inner ? w.sum.data() : nullptr,
                     .sum_squares = inner ? w.sum_squares.data() : nullptr,
                     .panel_squares = p.sigma ? w.panel_squares.data() : nullptr,
                     .magnitude = p.magnitude ? w.block.data() : nullptr,
                     .largest = p.sigma ? w.largest.data() : nullptr});
    if (!p.magnitude || (end % kMagnitudeBlock != 0 && end < p.k)) continue;
    for (int64_t i = 0; i < size; ++i) w.magnitude[i] += w.block[i];
  }
  w.number = p.number, w.batch = t.batch, w.col = t.col;
}

// Loads magnitudes that were summed in double before, because they do not fit float.
void LoadMagnitudes(const Problem& p, const Tile& t, const Plane& magnitude, Workspace& w) {
  for (int64_t i = 0; i < t.rows; ++i) {
    const int64_t from = (t.batch * p.m + t.row + i) * p.n + t.col;
    for (int64_t j = 0; j < t.cols; ++j) w.magnitude[i * RowStride(t.cols) + j] = magnitude[from + j];
  }
}

void Store(const Problem& p, const Tile& t, Workspace& w, Golden& golden) {
  const int64_t stride = RowStride(t.cols);
  if (p.sigma && !p.magnitude) LoadMagnitudes(p, t, golden.magnitude, w);
  if (p.sigma) {
    const int64_t size = t.rows * stride;
    for (int64_t i = 0; i < size; ++i) w.panel[i] = p.magnitude ? w.largest[i] : 0;
    const PanelSums sums{w.sum.data(), w.sum_squares.data(), w.panel_squares.data(), w.magnitude.data(),
                         w.panel.data()};
    SigmaFromPanels(w.value.data(), sums, PanelShape(p.k), 1, w.sigma.data(), size);
  }
  const double terms = static_cast<double>(p.k);
  const double up = 1 + 2 * Gamma(static_cast<double>(std::min(p.k, kMagnitudeBlock)) + 2, 0x1p-24);
  // Products of two floats are exact in double, so only the K additions round.
  const double error = Gamma(terms + 2, 0x1p-53) * up;
  for (int64_t i = 0; i < t.rows; ++i) {
    const int64_t to = (t.batch * p.m + t.row + i) * p.n + t.col, from = i * stride;
    const auto row = static_cast<size_t>(t.cols);
    std::copy_n(&w.value[from], t.cols, &golden.value[to]);
    if (p.sigma) golden.sigma.SetRow(to, {&w.sigma[from], row});
    if (!p.magnitude) continue;
    golden.magnitude.SetRowUp(to, {&w.magnitude[from], row}, up);
    golden.error.SetRowUp(to, {&w.magnitude[from], row}, error);
  }
}

uint64_t NextNumber() {
  static std::atomic<uint64_t> number{0};
  return ++number;
}

}  // namespace

bool MagnitudeFitsFloat(const GemmOperand& a, const GemmOperand& b) {
  const double block = static_cast<double>(std::min(a.cols, kMagnitudeBlock));
  const double smallest = a.min_abs * b.min_abs;
  return a.max_abs * b.max_abs * block < 0x1p126 && (smallest == 0 || smallest > 0x1p-120);
}

void FastGemm(const GemmOperand& a, const GemmOperand& b, bool planes, Golden& golden) {
  const Problem p{.a = a,
                  .b = b,
                  .m = a.rows,
                  .n = b.cols,
                  .k = a.cols,
                  .sigma = planes,
                  .magnitude = planes && MagnitudeFitsFloat(a, b),
                  .number = NextNumber()};
  if (p.k == 0 || golden.value.empty()) return;
  if (planes && !p.magnitude) MagnitudeGemm(a, a.values, b, b.values, false, golden.magnitude);
  const int64_t down = (p.m + kTileRows - 1) / kTileRows, across = (p.n + kTileCols - 1) / kTileCols;
  ParallelFor(a.batch * across * down, 1, [&](int64_t begin, int64_t end) {
    RequireFloatEnvironment("golden matrix product");
    thread_local Workspace w;
    w.Reserve();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i % down * kTileRows, col = i / down % across * kTileCols;
      const Tile t{i / down / across, row, col, std::min(kTileRows, p.m - row), std::min(kTileCols, p.n - col)};
      SumPanels(p, t, w);
      Store(p, t, w, golden);
    }
  });
  if (planes && !p.magnitude) {
    const double error = Gamma(static_cast<double>(p.k) + 2, 0x1p-53);
    for (int64_t i = 0; i < golden.error.size(); ++i) golden.error.SetUp(i, golden.magnitude[i] * error);
  }
}

}  // namespace assay
