// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/softmax_rows.h"

#include <algorithm>
#include <limits>

#include "golden/golden.h"
#include "golden/sums/lanes.h"
#include "harness/core/base/multiversion.h"
#include "harness/core/data/infinity.h"

namespace assay {
namespace {

static_assert(kSigmaPanel % kSumLanes == 0 && kSoftmaxStretch % kSigmaPanel == 0);

// `wrong` counts NaN and +inf.
ASSAY_MULTIVERSION void LargestOf(const double* __restrict x, int64_t n, double* __restrict largest,
                                  int64_t* __restrict wrong) {
  for (int64_t i = 0; i < n; i += kSumLanes) {
    for (int lane = 0; lane < kSumLanes; ++lane) {
      largest[lane] = x[i + lane] > largest[lane] ? x[i + lane] : largest[lane];
      wrong[lane] += x[i + lane] < kInfinity ? 0 : 1;
    }
  }
}

ASSAY_MULTIVERSION void AddProducts(const double* __restrict a, const double* __restrict b, int64_t n,
                                    double* __restrict sums) {
  for (int64_t i = 0; i < n; i += kSumLanes) {
    for (int lane = 0; lane < kSumLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
}

ASSAY_MULTIVERSION void AddPanel(const double* __restrict e, const double* __restrict d, double variance, int64_t n,
                                 double* __restrict sums, double* __restrict weighted, double* __restrict squares) {
  for (int64_t i = 0; i < n; i += kSumLanes) {
    for (int lane = 0; lane < kSumLanes; ++lane) {
      const double term = e[i + lane], product = term * d[i + lane];
      sums[lane] += term;
      weighted[lane] += product;
      squares[lane] += variance * term * term + product * product;
    }
  }
}

}  // namespace

double LargestTerm(std::span<const double> x) {
  const auto whole = std::ssize(x) / kSumLanes * kSumLanes;
  double largest[kSumLanes];
  std::ranges::fill(largest, -kInfinity);
  int64_t wrong[kSumLanes] = {};
  LargestOf(x.data(), whole, largest, wrong);
  for (const double last : x.subspan(static_cast<size_t>(whole))) {
    largest[0] = std::max(largest[0], last);
    wrong[0] += last < kInfinity ? 0 : 1;
  }
  const bool has_wrong = std::ranges::any_of(wrong, [](int64_t count) { return count > 0; });
  return has_wrong ? std::numeric_limits<double>::quiet_NaN() : *std::ranges::max_element(largest);
}

double SumOfProducts(std::span<const double> a, std::span<const double> b) {
  const auto whole = std::ssize(a) / kSumLanes * kSumLanes;
  double sums[kSumLanes] = {};
  AddProducts(a.data(), b.data(), whole, sums);
  for (auto i = static_cast<size_t>(whole); i < a.size(); ++i) sums[0] += a[i] * b[i];
  return SumLanes(sums);
}

void SumPanels(std::span<const double> e, std::span<const double> d, double variance, double* panels,
               SquaredSums& sums) {
  double weighted[kSumLanes] = {}, squares[kSumLanes] = {};
  for (int64_t at = 0; at < std::ssize(e); at += kSigmaPanel) {
    const int64_t count = std::min(kSigmaPanel, std::ssize(e) - at), whole = count / kSumLanes * kSumLanes;
    double panel[kSumLanes] = {};
    AddPanel(e.data() + at, d.data() + at, variance, whole, panel, weighted, squares);
    for (auto i = static_cast<size_t>(at + whole); i < static_cast<size_t>(at + count); ++i) {
      const double product = e[i] * d[i];
      panel[0] += e[i];
      weighted[0] += product;
      squares[0] += variance * e[i] * e[i] + product * product;
    }
    panels[at / kSigmaPanel] = SumLanes(panel);
  }
  sums.weighted += SumLanes(weighted);
  sums.squares += SumLanes(squares);
}

}  // namespace assay
