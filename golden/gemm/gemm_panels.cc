// SPDX-License-Identifier: Apache-2.0
// Packs b into panels, deals strips to threads, turns strip sums into golden values and planes.
#include "golden/gemm/gemm_panels.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "golden/bound/bound.h"
#include "golden/gemm/gemm_anchor.h"
#include "golden/gemm/gemm_engine.h"
#include "golden/sums/panel_sums.h"
#include "harness/core/base/parallel.h"

namespace assay {
namespace {

constexpr int64_t kStripsPerJob = 16;

BigBuffer<double> PackColumns(const double* b, int64_t k, int64_t n) {
  const int64_t panels = (n + kPanelCols - 1) / kPanelCols;
  BigBuffer<double> packed(panels * k * kPanelCols);
  ParallelFor(panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      const int64_t cols = std::min(kPanelCols, n - j * kPanelCols);
      for (int64_t i = 0; i < k; ++i) {
        double* to = &packed[(j * k + i) * kPanelCols];
        std::fill(std::copy_n(b + i * n + j * kPanelCols, cols, to), to + kPanelCols, 0.0);
      }
    }
  });
  return packed;
}

// One strip's place in the output: rows [row, row + rows) of all batches together, columns [col, col + cols).
struct Strip {
  int64_t row, col, rows, cols, batch;
  int64_t RowOf(int64_t r) const { return row + std::min(r, rows - 1); }
};
using StripBody = std::function<void(const StripInput&, const Strip&)>;

void ForEachStrip(const GemmOperand& a, const BigBuffer<double>& a_values, const GemmOperand& b,
                  const BigBuffer<double>& b_values, const StripBody& body) {
  const int64_t m = a.rows, k = a.cols, n = b.cols;
  const int64_t strips = (m + kStripRows - 1) / kStripRows, panels = (n + kPanelCols - 1) / kPanelCols;
  const auto one_batch = [&](int64_t batch) {
    const BigBuffer<double> packed = PackColumns(b_values.data() + batch * k * n, k, n);
    ParallelFor(panels * strips, kStripsPerJob, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t panel = i / strips, first = i % strips * kStripRows;
        Strip strip{batch * m + first, panel * kPanelCols, std::min(kStripRows, m - first), 0, batch};
        strip.cols = std::min(kPanelCols, n - strip.col);
        StripInput in{.a = {}, .b = packed.data() + panel * k * kPanelCols, .k = k, .exact_products = true};
        for (int64_t r = 0; r < kStripRows; ++r) {
          in.a[r] = a_values.data() + strip.RowOf(r) * k;
        }
        body(in, strip);
      }
    });
  };
  // Many small products are dealt out whole (nested loops run inline), few large ones strip by strip.
  const bool many = a.batch >= 4 * int64_t{ThreadCount()};
  ParallelFor(a.batch, many ? 1 : a.batch, [&](int64_t begin, int64_t end) {
    for (int64_t batch = begin; batch < end; ++batch) one_batch(batch);
  });
}

// Error bounds of the products and sums, common to all elements.
struct Certificate {
  double magnitude_factor;  // makes a double sum of |p| an upper bound
  double underflow;         // added to magnitudes and errors: products below double's range
  double error_factor;      // times the magnitude
  bool extreme;             // squares of sums could leave double's range

  Certificate(const GemmOperand& a, const GemmOperand& b) {
    const double k = static_cast<double>(a.cols);
    const bool wide = a.dtype == DType::kF64 || b.dtype == DType::kF64;
    magnitude_factor = 1 + 2 * Gamma(k + 2, 0x1p-53);
    // The error term of a product below 2^-960 may underflow, by at most half of 2^-1074; so may the product.
    underflow = wide && a.min_abs * b.min_abs < 0x1p-960 ? (2 * k + 2) * 0x1p-1074 : 0;
    error_factor = (k + 2) * (wide ? 0x1p-103 : 0x1p-104) * magnitude_factor;
    const bool products_exist = a.min_abs > 0 && b.min_abs > 0;
    extreme = wide && (a.max_abs * b.max_abs > 0x1p300 || (products_exist && a.min_abs * b.min_abs < 0x1p-300));
  }
};

// Stores an element from sums with `anchors`, or from double-double sums if it is null.
void StoreElement(const Certificate& c, const Anchors* anchors, const StripSums& sums, int64_t r, int64_t j, int64_t to,
                  Golden& golden) {
  const double magnitude = sums.mag[r][j] * c.magnitude_factor + c.underflow;
  const double error = anchors != nullptr ? anchors->ErrorOf(sums.anchor[r][j], magnitude) : magnitude * c.error_factor;
  golden.value[to] = sums.hi[r][j];
  golden.value_lo[to] = sums.lo[r][j];
  golden.magnitude.SetUp(to, magnitude * (1 + 0x1p-50));
  golden.error.SetUp(to, error * (1 + 0x1p-50) + c.underflow);
  if (magnitude < 0x1p1022) return;
  // A partial sum may have overflowed although the result need not: nothing is certain, so everything is accepted.
  golden.error.SetUp(to, std::numeric_limits<double>::infinity());
  golden.value_lo[to] = 0;
  if (std::isnan(golden.value[to])) golden.value[to] = 0;
}

// Sums one strip. Extreme data are summed twice: each element's samples are scaled by its own magnitude.
void SumScaledStrip(const StripInput& in, bool extreme, StripSums& sums) {
  if (extreme) MagnitudeStrip(in, sums);
  for (int64_t i = 0; i < kStripRows * kPanelCols; ++i) {
    double& scale = sums.scale[i / kPanelCols][i % kPanelCols];
    scale = extreme ? SquareScale(sums.mag[i / kPanelCols][i % kPanelCols]) : 1;
  }
  SumStrip(in, sums);
}

// Four operations a term instead of a dozen; false where that is too coarse, because a row's or a column's largest
// entry is far above what enters some element.
bool SumAnchoredStrip(const StripInput& in, const Strip& strip, const Anchors& anchors, StripSums& sums) {
  int64_t rows[kStripRows];
  for (int64_t r = 0; r < kStripRows; ++r) rows[r] = strip.RowOf(r);
  if (!anchors.Set(rows, strip.batch, strip.col, sums)) return false;
  AnchorStrip(in, sums);
  for (int64_t r = 0; r < strip.rows; ++r) {
    for (int64_t j = 0; j < strip.cols; ++j) {
      if (!(anchors.ErrorOf(sums.anchor[r][j], sums.mag[r][j]) <= kAnchorEnough * sums.mag[r][j])) return false;
    }
  }
  return true;
}

void StripSigma(StripSums& sums, int64_t r, const PanelShape& panels, bool extreme, double* sigma) {
  for (int64_t j = 0; j < kPanelCols; ++j) {
    const double panel = sums.hi[r][j] * (extreme ? sums.scale[r][j] : 1) - sums.last[r][j];
    sums.panel_squares[r][j] += panel * panel;  // the last one's
    sums.largest[r][j] = std::max(sums.largest[r][j], sums.mag[r][j] - sums.last_mag[r][j]);
  }
  const auto from = [&](int64_t j) {
    return PanelSums{&sums.sum[r][j], &sums.sum_squares[r][j], &sums.panel_squares[r][j], &sums.mag[r][j],
                     &sums.largest[r][j]};
  };
  if (!extreme) return SigmaFromPanels(sums.hi[r], from(0), panels, 1, sigma, kPanelCols);
  for (int64_t j = 0; j < kPanelCols; ++j) {
    SigmaFromPanels(&sums.hi[r][j], from(j), panels, sums.scale[r][j], sigma + j, 1);
  }
}

}  // namespace

void ReproducibleGemm(const GemmOperand& a, const GemmOperand& b, Golden& golden) {
  const Certificate certificate(a, b);
  const bool exact_products = a.dtype != DType::kF64 && b.dtype != DType::kF64;
  const PanelShape panels(a.cols);
  const Anchors anchors(a, b);
  ForEachStrip(a, a.values, b, b.values, [&](StripInput in, const Strip& strip) {
    StripSums sums{};
    in.exact_products = exact_products;
    const bool anchored = !certificate.extreme && SumAnchoredStrip(in, strip, anchors, sums);
    if (!anchored) sums = {}, SumScaledStrip(in, certificate.extreme, sums);
    for (int64_t r = 0; r < strip.rows; ++r) {
      double sigma[kPanelCols];
      StripSigma(sums, r, panels, certificate.extreme, sigma);
      const int64_t to = (strip.row + r) * b.cols + strip.col;
      golden.sigma.SetRow(to, {sigma, static_cast<size_t>(strip.cols)});
      for (int64_t j = 0; j < strip.cols; ++j) {
        StoreElement(certificate, anchored ? &anchors : nullptr, sums, r, j, to + j, golden);
      }
    }
  });
}

void MagnitudeGemm(const GemmOperand& a, const BigBuffer<double>& a_values, const GemmOperand& b,
                   const BigBuffer<double>& b_values, bool add, Plane& plane) {
  const Certificate certificate(a, b);
  ForEachStrip(a, a_values, b, b_values, [&](const StripInput& in, const Strip& strip) {
    StripSums sums{};
    MagnitudeStrip(in, sums);
    for (int64_t r = 0; r < strip.rows; ++r) {
      for (int64_t j = 0; j < strip.cols; ++j) {
        const int64_t to = (strip.row + r) * b.cols + strip.col + j;
        const double mass = sums.mag[r][j] * certificate.magnitude_factor + certificate.underflow;
        plane.SetUp(to, (add ? plane[to] : 0.0) + mass);
      }
    }
  });
}

}  // namespace assay
