// SPDX-License-Identifier: Apache-2.0
// Row sums in eight interleaved double-double lanes: a fixed order, wide enough for any vector unit.
#include "golden/sums/sum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "golden/bound/bound.h"
#include "golden/dd/dd.h"
#include "golden/sums/panel_sums.h"
#include "harness/core/base/check.h"
#include "harness/core/base/float_environment.h"
#include "harness/core/base/parallel.h"

namespace assay {
namespace {

constexpr int kLanes = 8;

struct LaneSums {
  double hi[kLanes] = {}, lo[kLanes] = {}, magnitude[kLanes] = {};

  void Add(const double* x) {
    for (int l = 0; l < kLanes; ++l) AddTerm(l, x[l], 0);
  }
  void AddSquares(const double* x) {
    for (int l = 0; l < kLanes; ++l) {
      const DD square = TwoProd(x[l], x[l]);
      AddTerm(l, square.hi, square.lo);
    }
  }
  // Loses at most 2^-104 of the magnitude, 2^-103 with a low part (derived in gemm_dd.cc).
  void AddTerm(int l, double p, double p_lo) {
    const DD s = TwoSum(hi[l], p);
    const DD sum = TwoSum(s.hi, lo[l] + (s.lo + p_lo));
    hi[l] = sum.hi;
    lo[l] = sum.lo;
    magnitude[l] += std::fabs(p);
  }
  DD Total() const {
    DD total{hi[0], lo[0]};
    for (int l = 1; l < kLanes; ++l) total = total + DD{hi[l], lo[l]};
    return total;
  }
  double RunningSum() const {
    double sum = 0;
    for (const double x : hi) sum += x;
    return sum;
  }
  double Magnitude() const {
    double sum = 0;
    for (const double x : magnitude) sum += x;
    return sum;
  }
};

struct RowSums {
  double value = 0, value_lo = 0, magnitude = 0, sigma = 0, error = 0;
  double nonfinite = 0;  // the sum of the infinite and NaN terms
  double subnormal_mass = 0;
  double squares = 0;  // of the terms, scaled
};

struct SumSpec {
  int64_t k;
  bool squares;
  double min_normal;
};

// Copies one panel, padded with zeros, non-finite terms set apart.
void LoadPanel(const double* x, int64_t width, const SumSpec& spec, double scale, double* panel, RowSums& row) {
  std::fill(panel + width, panel + kSigmaPanel, 0.0);
  for (int64_t i = 0; i < width; ++i) {
    const double abs = std::fabs(x[i]);
    const bool finite = abs <= std::numeric_limits<double>::max();
    panel[i] = finite ? x[i] : 0.0;
    if (!finite) row.nonfinite += spec.squares ? x[i] * x[i] : x[i];
    if (abs < spec.min_normal) row.subnormal_mass += spec.squares ? abs * abs : abs;
  }
  if (spec.squares) return;  // no two of them cancel
  for (int64_t i = 0; i < width; ++i) row.squares += (panel[i] * scale) * (panel[i] * scale);
}

void Certify(const SumSpec& spec, RowSums& row) {
  const double k = static_cast<double>(spec.k);
  // Squares below 2^-960 have an error term that may underflow by half of 2^-1074, as may the square itself.
  const double underflow = spec.squares && row.magnitude < 0x1p-800 ? (2 * k + 2) * 0x1p-1074 : 0;
  row.magnitude = row.magnitude * (1 + 2 * Gamma(k + 16, 0x1p-53)) + underflow;
  row.error = row.magnitude * (k + 32) * 0x1p-103 + (spec.squares ? (2 * k + 2) * 0x1p-1074 : 0);
  row.subnormal_mass *= 1 + 2 * Gamma(k + 2, 0x1p-53);
  if (row.magnitude < 0x1p1022) return;
  row.error = std::numeric_limits<double>::infinity();  // a partial sum may have left double's range
  row.value_lo = 0;
  if (std::isnan(row.value)) row.value = 0;
}

double LargestFinite(const double* x, int64_t k) {
  double largest = 0;
  for (int64_t i = 0; i < k; ++i) {
    const double abs = std::fabs(x[i]);
    if (abs <= std::numeric_limits<double>::max()) largest = std::max(largest, abs);
  }
  return largest;
}

RowSums SumRow(const double* x, const SumSpec& spec) {
  RowSums row;
  const double largest = LargestFinite(x, spec.k);
  const double scale = SquareScale(spec.squares ? largest * largest : largest);
  LaneSums lanes;
  PanelSampler sampler;
  alignas(64) double panel[kSigmaPanel];
  for (int64_t k0 = 0; k0 < spec.k; k0 += kSigmaPanel) {
    const int64_t width = std::min(kSigmaPanel, spec.k - k0);
    LoadPanel(x + k0, width, spec, scale, panel, row);
    for (int64_t i = 0; i < width; i += kLanes) spec.squares ? lanes.AddSquares(panel + i) : lanes.Add(panel + i);
    if (k0 + width == spec.k) break;
    sampler.End(lanes.RunningSum() * scale);
  }
  const DD total = lanes.Total();
  row.value = total.hi;
  row.value_lo = total.lo;
  row.magnitude = lanes.Magnitude();
  row.sigma = sampler.Sigma(row.value, row.magnitude, spec.k, scale, row.squares);
  Certify(spec, row);
  return row;
}

// Without a low part the golden value itself is rounded to double.
void StoreRow(const RowSums& row, int64_t i, Golden& golden) {
  golden.value[i] = row.value;
  double error = row.error;
  if (golden.tier == Tier::kReproducible) {
    golden.value_lo[i] = row.value_lo;
  } else {
    error = (error + std::fabs(row.value_lo)) * (1 + 0x1p-50);
  }
  if (row.nonfinite != 0) {  // infinite or NaN
    golden.value[i] = std::isnan(row.nonfinite) ? std::numeric_limits<double>::quiet_NaN() : row.nonfinite;
    if (!golden.value_lo.empty()) golden.value_lo[i] = 0;
  }
  golden.magnitude.SetUp(i, row.magnitude);
  golden.sigma.Set(i, row.sigma);
  golden.error.SetUp(i, error);
}

}  // namespace

Golden GoldenRowSums(std::span<const double> x, int64_t rows, int64_t k, Tier tier, bool squares, double min_normal,
                     bool wide) {
  ASSAY_CHECK(std::ssize(x) == rows * k);
  RequireFloatEnvironment("golden row sum");
  Golden golden{.shape = {rows}, .tier = tier};
  golden.value.resize(rows);
  if (tier == Tier::kReproducible) golden.value_lo.resize(rows);
  golden.magnitude = golden.sigma = golden.error = Plane(rows, wide);
  Plane mass(rows, wide);
  const SumSpec spec{k, squares, min_normal};
  std::vector<char> has_mass(rows);
  ParallelFor(rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, k)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const RowSums row = SumRow(x.data() + i * k, spec);
      StoreRow(row, i, golden);
      mass.SetUp(i, row.subnormal_mass);
      has_mass[i] = row.subnormal_mass > 0;
    }
  });
  if (std::find(has_mass.begin(), has_mass.end(), 1) != has_mass.end()) {
    golden.extra.emplace_back("subnormal_mass", std::move(mass));
  }
  return golden;
}

}  // namespace assay
