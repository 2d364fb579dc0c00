// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/shared_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "golden/big_buffer.h"
#include "golden/element.h"
#include "golden/sums/lanes.h"
#include "harness/core/base/multiversion.h"
#include "harness/core/base/parallel.h"

namespace assay {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kMost = 0x1p40;  // of t: what lies above is not told apart
constexpr int kHalvings = 40;

// A row by element, each number divided by what rho is multiplied with. An element that is not judged has an infinite
// width.
struct RowShares {
  BigBuffer<double> error, width, allowance;

  void Resize(size_t n) {
    for (auto* array : {&error, &width, &allowance}) array->resize(n);
  }
};

// Rows are padded to whole lanes.
ASSAY_MULTIVERSION void Intersect(const double* __restrict error, const double* __restrict width,
                                  const double* __restrict allowance, double t, int64_t n, double* __restrict low,
                                  double* __restrict high) {
  for (int64_t i = 0; i < n; i += kSumLanes) {
    for (int lane = 0; lane < kSumLanes; ++lane) {
      const double reach = width[i + lane] + t * allowance[i + lane];
      const double least = error[i + lane] - reach, most = error[i + lane] + reach;
      low[lane] = least > low[lane] ? least : low[lane];
      high[lane] = most < high[lane] ? most : high[lane];
    }
  }
}

bool HaveCommonPoint(const RowShares& row, double t) {
  std::array<double, kSumLanes> low, high;
  low.fill(-kInfinite), high.fill(kInfinite);
  Intersect(row.error.data(), row.width.data(), row.allowance.data(), t, std::ssize(row.error), low.data(),
            high.data());
  return *std::ranges::max_element(low) <= *std::ranges::min_element(high);
}

// The least t, unless it is no more than `least`: then that.
double LeastAllowance(const RowShares& row, double least) {
  if (HaveCommonPoint(row, least)) return least;
  double above = std::max(1.0, 2 * least);
  while (above < kMost && !HaveCommonPoint(row, above)) above *= 2;
  double below = least;
  for (int i = 0; i < kHalvings && above - below > 1e-3 * above; ++i) {
    const double middle = (below + above) / 2;
    (HaveCommonPoint(row, middle) ? above : below) = middle;
  }
  return above;
}

// The spacing of the output at x >= 0: its exponent field read as a number, scaled.
inline double SpacingAt(const JudgeParams& p, double x) {
  const double binade = std::bit_cast<double>(std::bit_cast<uint64_t>(x) & std::bit_cast<uint64_t>(kInfinite));
  const double spacing = binade * p.ulp_scale, least = spacing < p.ulp_floor ? p.ulp_floor : spacing;
  return least < p.ulp_ceiling ? least : p.ulp_ceiling;
}

// Turns differences, errors of golden values and allowances into shares.
ASSAY_MULTIVERSION void DivideShares(const JudgeParams& p, bool additive, const double* __restrict got,
                                     const double* __restrict y, double* __restrict error, double* __restrict width,
                                     double* __restrict allowance, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double a = std::fabs(got[i]), b = std::fabs(y[i]), larger = a > b ? a : b;
    const double rounding = p.own_rounding_ulps * SpacingAt(p, larger);
    const double own = rounding < p.lambda_out ? p.lambda_out : rounding;
    const double by = additive ? 1.0 : y[i], size = std::fabs(by);
    const bool judged = a < kInfinite && b < kInfinite && size > 0;
    error[i] = judged ? error[i] / by : 0;
    width[i] = judged ? (own + width[i]) / size : kInfinite;
    allowance[i] = judged ? allowance[i] / size : 0;
  }
}

class RowReader {
 public:
  RowReader(const ElementJudge& judge, const Tensor& got)
      : judge_(judge), shared_(*judge.bound().statistic.shared_row), tensor_(got) {}

  const RowShares& Read(int64_t row) {
    const auto terms = static_cast<size_t>(shared_.terms), padded = (terms + kSumLanes - 1) / kSumLanes * kSumLanes;
    shares_.Resize(terms);
    got_.resize(terms), y_.resize(terms);
    const int64_t first = row / shared_.inner * shared_.terms * shared_.inner + row % shared_.inner;
    if (shared_.inner == 1) {
      ReadStretch(first, 0, terms);
    } else {
      for (size_t k = 0; k < terms; ++k) ReadStretch(first + static_cast<int64_t>(k) * shared_.inner, k, 1);
    }
    DivideShares(judge_.params(), shared_.additive, got_.data(), y_.data(), shares_.error.data(), shares_.width.data(),
                 shares_.allowance.data(), shared_.terms);
    shares_.Resize(padded);
    for (size_t k = terms; k < padded; ++k) {
      shares_.error[k] = shares_.allowance[k] = 0;
      shares_.width[k] = kInfinite;
    }
    return shares_;
  }

 private:
  void ReadStretch(int64_t first, size_t at, size_t count) {
    const Golden& golden = judge_.golden();
    const auto part = [&](BigBuffer<double>& array) { return std::span(array).subspan(at, count); };
    tensor_.Read(first, part(got_));
    std::copy_n(golden.value.begin() + first, count, y_.begin() + static_cast<int64_t>(at));
    ReadPlane(golden.error, first, golden.size(), part(shares_.width));
    shared_.allowance->Read(first, part(shares_.allowance));
    const bool open = !judge_.bound().also.empty() || !judge_.bound().value_where.empty();
    for (size_t k = at; k < at + count; ++k) {
      const int64_t i = first + static_cast<int64_t>(k - at);
      shares_.error[k] = (got_[k] - y_[k]) - (golden.value_lo.empty() ? 0 : golden.value_lo[static_cast<size_t>(i)]);
      if (open && (judge_.Open(i) || judge_.Decided(i) != nullptr)) got_[k] = kInfinite;  // not judged
    }
  }

  const ElementJudge& judge_;
  const SharedRow& shared_;
  const Tensor& tensor_;
  RowShares shares_;
  BigBuffer<double> got_, y_;
};

}  // namespace

std::string SharedRowFinding::Text(const Shape& shape) const {
  return fmt::format(
      "the row at {} has no error in common that explains its elements: what is left of some is {:.3g} times what "
      "one exponential and its roundings may be off",
      IndexText(shape, row * shape.back()), margin);
}

SharedRowFinding JudgeSharedRows(const ElementJudge& judge, const Tensor& got) {
  const SharedRow& shared = *judge.bound().statistic.shared_row;
  const int64_t rows = judge.golden().size() / shared.terms;
  const int64_t judged = std::min(rows, std::max<int64_t>(1, kMostSharedElements / shared.terms));
  constexpr int64_t kStretches = 64;
  const int64_t stretches = std::min(judged, kStretches);
  std::vector<SharedRowFinding> found(static_cast<size_t>(stretches));
  ParallelFor(stretches, 1, [&](int64_t begin, int64_t end) {
    RowReader reader(judge, got);
    for (int64_t s = begin; s < end; ++s) {
      SharedRowFinding& finding = found[static_cast<size_t>(s)];
      for (int64_t n = s * judged / stretches; n < (s + 1) * judged / stretches; ++n) {
        const int64_t row = n * rows / judged;
        const double t = LeastAllowance(reader.Read(row), finding.margin);
        if (t > finding.margin || finding.row < 0) finding = {t, row};
      }
    }
  });
  return *std::ranges::max_element(found, {}, &SharedRowFinding::margin);
}

}  // namespace assay
