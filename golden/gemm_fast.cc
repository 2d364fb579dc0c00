// SPDX-License-Identifier: Apache-2.0
// Library dgemm in tiles of the output. Over K it goes panel by panel, so that partial sums can be sampled; a tile's
// running arrays stay in the second-level cache. Each tile is one single-threaded library call on a fixed part of the
// problem, so that the bits do not depend on the thread count.
#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "golden/bound.h"
#include "golden/float_env.h"
#include "golden/gemm_engine.h"
#include "golden/panel_sums.h"
#include "harness/base/parallel.h"

namespace assay {
namespace {

constexpr int64_t kTileRows = 128, kTileCols = 256;
// Magnitudes are summed in float over this many terms, then in double: gamma_2048(2^-24) = 1.2e-4.
constexpr int64_t kMagnitudeBlock = 2048;

struct Tile {
  int64_t batch, row, col, rows, cols;
};

struct Problem {
  const GemmOperand& a;
  const GemmOperand& b;
  BigBuffer<float> abs_a, abs_b;  // empty when float could overflow or underflow
  int64_t m, n, k;

  const double* A(const Tile& t) const { return a.values.data() + (t.batch * m + t.row) * k; }
  const double* B(const Tile& t) const { return b.values.data() + t.batch * k * n + t.col; }
};

BigBuffer<float> AbsFloats(const BigBuffer<double>& values) {
  BigBuffer<float> abs(values.size());
  ParallelFor(std::ssize(values), 1 << 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) abs[i] = static_cast<float>(std::fabs(values[i]));
  });
  return abs;
}

// Products of the smallest and of the largest factors, with room for a sum, are normal floats: then a float product
// has relative errors only.
bool MagnitudeFitsFloat(const GemmOperand& a, const GemmOperand& b) {
  const double block = static_cast<double>(std::min(a.cols, kMagnitudeBlock));
  const double smallest = a.min_abs * b.min_abs;
  return a.max_abs * b.max_abs * block < 0x1p126 && (smallest == 0 || smallest > 0x1p-120);
}

// Per thread, kept between tiles and calls.
struct Workspace {
  std::vector<double> c, sum, sum_squares, magnitude, sigma;
  std::vector<float> block;
  void Reserve() {
    constexpr size_t kSize = kTileRows * kTileCols;
    for (auto* v : {&c, &sum, &sum_squares, &magnitude, &sigma}) v->resize(kSize);
    block.resize(kSize);
  }
};

void Dgemm(const Problem& p, const Tile& t, int64_t k0, int64_t width, double* c) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(t.rows), static_cast<int>(t.cols),
              static_cast<int>(width), 1.0, p.A(t) + k0, static_cast<int>(p.k), p.B(t) + k0 * p.n,
              static_cast<int>(p.n), k0 == 0 ? 0.0 : 1.0, c, static_cast<int>(t.cols));
  RequireFloatEnvironment("after a library matrix product");
}

// Values into w.c, and the sums of s and s^2 over all panel ends but the last.
void SumPanels(const Problem& p, const Tile& t, Workspace& w) {
  const int64_t size = t.rows * t.cols;
  std::fill_n(w.sum.begin(), size, 0.0);
  std::fill_n(w.sum_squares.begin(), size, 0.0);
  for (int64_t k0 = 0; k0 < p.k; k0 += kSigmaPanel) {
    const int64_t width = std::min(kSigmaPanel, p.k - k0);
    Dgemm(p, t, k0, width, w.c.data());
    if (k0 + width < p.k) AccumulatePanelEnd(w.c.data(), w.sum.data(), w.sum_squares.data(), size);
  }
}

void SumMagnitudes(const Problem& p, const Tile& t, Workspace& w) {
  const int64_t size = t.rows * t.cols;
  std::fill_n(w.magnitude.begin(), size, 0.0);
  const float* a = p.abs_a.data() + (t.batch * p.m + t.row) * p.k;
  const float* b = p.abs_b.data() + t.batch * p.k * p.n + t.col;
  for (int64_t k0 = 0; k0 < p.k; k0 += kMagnitudeBlock) {
    const int64_t width = std::min(kMagnitudeBlock, p.k - k0);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(t.rows), static_cast<int>(t.cols),
                static_cast<int>(width), 1.0F, a + k0, static_cast<int>(p.k), b + k0 * p.n, static_cast<int>(p.n), 0.0F,
                w.block.data(), static_cast<int>(t.cols));
    for (int64_t i = 0; i < size; ++i) w.magnitude[i] += w.block[i];
  }
  RequireFloatEnvironment("after a library matrix product");
}

void StoreValues(const Problem& p, const Tile& t, const Workspace& w, Golden& golden) {
  for (int64_t i = 0; i < t.rows; ++i) {
    std::copy_n(&w.c[i * t.cols], t.cols, &golden.value[(t.batch * p.m + t.row + i) * p.n + t.col]);
  }
}

void StorePlanes(const Problem& p, const Tile& t, Workspace& w, Golden& golden) {
  SigmaFromPanels(w.c.data(), w.sum.data(), w.sum_squares.data(), PanelShape(p.k), 1, w.sigma.data(), t.rows * t.cols);
  const double terms = static_cast<double>(p.k);
  const double up = 1 + 2 * Gamma(static_cast<double>(std::min(p.k, kMagnitudeBlock)) + 2, 0x1p-24);
  // Products of two floats are exact in double, so only the K additions round, fused or not, in any order.
  const double error = Gamma(terms + 2, 0x1p-53) * up;
  for (int64_t i = 0; i < t.rows; ++i) {
    const int64_t to = (t.batch * p.m + t.row + i) * p.n + t.col, from = i * t.cols;
    const auto row = static_cast<size_t>(t.cols);
    golden.sigma.SetRow(to, {&w.sigma[from], row});
    if (p.abs_a.empty()) continue;
    golden.magnitude.SetRowUp(to, {&w.magnitude[from], row}, up);
    golden.error.SetRowUp(to, {&w.magnitude[from], row}, error);
  }
}

// A library with threads of its own would start them under each of ours.
void UseOneLibraryThread() {
  static const bool done = (openblas_set_num_threads(1), true);
  (void)done;
}

}  // namespace

void FastGemm(const GemmOperand& a, const GemmOperand& b, bool planes, Golden& golden) {
  UseOneLibraryThread();
  Problem p{.a = a, .b = b, .abs_a = {}, .abs_b = {}, .m = a.rows, .n = b.cols, .k = a.cols};
  if (p.k == 0 || golden.value.empty()) return;
  const bool by_float = planes && MagnitudeFitsFloat(a, b);
  if (by_float) p.abs_a = AbsFloats(a.values), p.abs_b = AbsFloats(b.values);
  const int64_t down = (p.m + kTileRows - 1) / kTileRows, across = (p.n + kTileCols - 1) / kTileCols;
  ParallelFor(a.batch * down * across, 1, [&](int64_t begin, int64_t end) {
    thread_local Workspace w;
    w.Reserve();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / across % down * kTileRows, col = i % across * kTileCols;
      const Tile t{i / across / down, row, col, std::min(kTileRows, p.m - row), std::min(kTileCols, p.n - col)};
      planes ? SumPanels(p, t, w) : Dgemm(p, t, 0, p.k, w.c.data());
      StoreValues(p, t, w, golden);
      if (by_float) SumMagnitudes(p, t, w);
      if (planes) StorePlanes(p, t, w, golden);
    }
  });
  if (planes && !by_float) {
    MagnitudeGemm(a, a.values, b, b.values, false, golden.magnitude);
    const double error = Gamma(static_cast<double>(p.k) + 2, 0x1p-53);
    for (int64_t i = 0; i < golden.error.size(); ++i) golden.error.SetUp(i, golden.magnitude[i] * error);
  }
}

}  // namespace assay
