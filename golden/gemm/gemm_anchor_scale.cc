// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "golden/gemm/gemm_anchor.h"
#include "harness/core/base/parallel.h"

namespace assay {
namespace {

// The smallest power of two that is at least x; 0 of 0.
double PowerAbove(double x) {
  if (x == 0) return 0;
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5 ? x : std::ldexp(1.0, exponent);
}

std::vector<double> RowScales(const GemmOperand& a) {
  std::vector<double> scales(static_cast<size_t>(a.batch * a.rows));
  ParallelFor(std::ssize(scales), 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double largest = 0;
      for (int64_t k = i * a.cols; k < (i + 1) * a.cols; ++k) largest = std::max(largest, std::abs(a.values[k]));
      scales[i] = PowerAbove(largest);
    }
  });
  return scales;
}

std::vector<double> ColumnScales(const GemmOperand& b) {
  std::vector<double> scales(static_cast<size_t>(b.batch * b.cols));
  for (int64_t row = 0; row < b.batch * b.rows; ++row) {
    double* to = &scales[row / b.rows * b.cols];
    const double* from = &b.values[row * b.cols];
    for (int64_t j = 0; j < b.cols; ++j) to[j] = std::max(to[j], std::abs(from[j]));
  }
  std::ranges::transform(scales, scales.begin(), PowerAbove);
  return scales;
}

}  // namespace

// 2^e = 4 n P for n terms (n a power of two) of at most P: the partial sums stay below n (P + g / 2) < 2^(e-1).
Anchors::Anchors(const GemmOperand& a, const GemmOperand& b) : n_(b.cols), rows_(RowScales(a)), cols_(ColumnScales(b)) {
  const auto terms = static_cast<double>(std::max<int64_t>(1, std::min(a.cols, kAnchorBlock)));
  scale_ = 4 * PowerAbove(terms);
  block_loss_ = terms * (terms + 2) * 0x1p-54 * 0x1p-52 / 1.5 * (1 + 0x1p-40);
  blocks_ = std::ceil(static_cast<double>(a.cols) / static_cast<double>(kAnchorBlock));
}

bool Anchors::Set(const int64_t (&rows)[kStripRows], int64_t batch, int64_t col, StripSums& sums) const {
  constexpr double kLeast = 0x1p-900, kMost = 0x1p1000;
  bool in_range = true;
  for (int64_t r = 0; r < kStripRows; ++r) {
    const double row = rows_[rows[r]];
    for (int64_t j = 0; j < kPanelCols; ++j) {
      const double column = col + j < n_ ? cols_[batch * n_ + col + j] : 0;
      const bool empty = row == 0 || column == 0;
      const double power = empty ? 0 : scale_ * row * column;
      in_range = in_range && (empty || (power >= kLeast && power <= kMost));
      sums.anchor[r][j] = 1.5 * power;
    }
  }
  return in_range;
}

double Anchors::ErrorOf(double anchor, double magnitude) const {
  return blocks_ * (block_loss_ * anchor + 0x1p-104 * magnitude);
}

}  // namespace assay
