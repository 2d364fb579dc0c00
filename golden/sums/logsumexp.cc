// SPDX-License-Identifier: Apache-2.0
// log-sum-exp of rows. Fast: double with the C library's exp and log (below 1 ulp), sums by panels. Reproducible:
// double-double functions throughout, no library function, so that the bits are the same on every machine.
#include <algorithm>
#include <cmath>
#include <limits>

#include "golden/dd/dd.h"
#include "golden/sums/panel_sums.h"
#include "golden/sums/ranks.h"
#include "golden/sums/sum.h"
#include "harness/core/base/check.h"
#include "harness/core/base/float_environment.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"

namespace assay {
namespace {

// exp(-700) < 2^-1009 of the largest term: left out.
constexpr double kNegligible = -700;
double NeglectedError(int64_t k) {
  return 0x1p-1009 * static_cast<double>(k) + 0x1p-1073;
}

struct RowLse {
  double value = 0, value_lo = 0, sigma = 0, error = 0, spread = 0, log_part = 0, mean_rank = 0;
};

// The differences (weighted by p), the logarithm and the last addition each round once, on top of the sum.
void JoinSigma(double sum_sigma, RowLse& row) {
  const double others = row.spread * row.spread + row.log_part * row.log_part + row.value * row.value;
  row.sigma = std::sqrt(sum_sigma * sum_sigma + kRoundingDeviation * kRoundingDeviation * others);
}

// The largest term is 1 exactly. It is left out of the sum of the others, so that ln(1 + rest) keeps its digits where
// the rest is small.
RowLse FastRow(const double* x, int64_t k, double max) {
  const int64_t largest = std::find(x, x + k, max) - x;
  DD rest;
  double weighted = 0;
  PanelSampler sampler;
  for (int64_t k0 = 0; k0 < k; k0 += kSigmaPanel) {
    const int64_t k1 = std::min(k, k0 + kSigmaPanel);
    double panel = 0, panel_weighted = 0;
    for (int64_t i = k0; i < k1; ++i) {
      const double d = x[i] - max;
      if (d < kNegligible || i == largest) continue;
      const double e = std::exp(d);
      panel += e;
      panel_weighted -= e * d;
    }
    rest = rest + panel;
    weighted += panel_weighted;
    if (k1 < k) sampler.End(rest.hi + (largest < k1 ? 1 : 0));
  }
  RowLse row;
  const double total = 1 + rest.hi;
  row.spread = weighted / total;
  const double log_total = std::log1p(rest.hi);
  row.log_part = log_total;
  row.value = max + log_total;
  // In u = 2^-53: the differences, of the rest's share 2 for exp and the 64 additions of a panel (those of panels keep
  // twice the digits), 2 |log| for log, the last addition.
  const double share = rest.hi / total;
  const double units = row.spread + share * (3 + static_cast<double>(kSigmaPanel)) + 2 * log_total;
  row.error = 0x1p-53 * (1 + 0x1p-20) * (units + std::fabs(row.value)) + NeglectedError(k);
  JoinSigma(sampler.Sigma(total, total, k) / total, row);
  return row;
}

RowLse ReproducibleRow(const double* x, int64_t k, double max) {
  const int64_t largest = std::find(x, x + k, max) - x;
  DD rest;
  double weighted = 0;
  PanelSampler sampler;
  for (int64_t i = 0; i < k; ++i) {
    const DD d = TwoSum(x[i], -max);
    if (d.hi >= kNegligible && i != largest) {
      const DD e = Exp(d);
      rest = rest + e;
      weighted -= e.hi * d.hi;
    }
    if ((i + 1) % kSigmaPanel == 0 && i + 1 < k) sampler.End(rest.hi + (largest <= i ? 1 : 0));
  }
  RowLse row;
  const double total = 1 + rest.hi;
  row.spread = weighted / total;
  const DD log_total = Log1p(rest);
  row.log_part = log_total.hi;
  const DD value = log_total + max;
  row.value = value.hi;
  row.value_lo = value.lo;
  // Exp and Log1p, k additions of 3 u^2 each, the last addition.
  const double share = rest.hi / total;
  row.error = kDDFunctionError * (2 * share + 5 * row.log_part) +
              0x1p-103 * (static_cast<double>(k) * share + std::fabs(row.value)) + NeglectedError(k);
  JoinSigma(sampler.Sigma(total, total, k) / total, row);
  return row;
}

// The row's maximum, or NaN when it has one.
double MaxOrNan(const double* x, int64_t k) {
  double max = -kInfinity;
  for (int64_t i = 0; i < k; ++i) {
    if (std::isnan(x[i])) return std::numeric_limits<double>::quiet_NaN();
    max = std::max(max, x[i]);
  }
  return max;
}

// The mean number of larger terms, weighted by p.
double MeanRank(const double* x, int64_t k, double max) {
  std::vector<double> e(x, x + k);
  double total = 0;
  for (double& term : e) total += term = std::exp(term - max);
  return SumOfRanks(e) / total;
}

RowLse Row(const double* x, int64_t k, Tier tier) {
  const double max = MaxOrNan(x, k);
  if (!std::isfinite(max)) return {.value = max};  // NaN; any +inf; all -inf, or no column at all
  RowLse row = tier == Tier::kFast ? FastRow(x, k, max) : ReproducibleRow(x, k, max);
  row.mean_rank = MeanRank(x, k, max);
  return row;
}

}  // namespace

Golden GoldenRowLogSumExp(std::span<const double> x, int64_t rows, int64_t k, Tier tier, bool wide) {
  ASSAY_CHECK(std::ssize(x) == rows * k);
  RequireFloatEnvironment("golden log-sum-exp");
  Golden golden{.shape = {rows}, .tier = tier};
  golden.value.resize(rows);
  if (tier == Tier::kReproducible) golden.value_lo.resize(rows);
  golden.magnitude = golden.sigma = golden.error = Plane(rows, wide);
  Plane spread(rows, wide), log_part(rows, wide), mean_rank(rows, wide);
  ParallelFor(rows, std::max<int64_t>(1, 1024 / std::max<int64_t>(1, k)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const RowLse row = Row(x.data() + i * k, k, tier);
      golden.value[i] = row.value;
      if (tier == Tier::kReproducible) golden.value_lo[i] = row.value_lo;
      golden.magnitude.Set(i, 1);
      golden.sigma.Set(i, row.sigma);
      golden.error.SetUp(i, row.error);
      spread.SetUp(i, row.spread * (1 + 0x1p-30));
      log_part.SetUp(i, row.log_part * (1 + 0x1p-30));
      mean_rank.SetUp(i, row.mean_rank * (1 + 0x1p-30));
    }
  });
  golden.extra.emplace_back("spread", std::move(spread));
  golden.extra.emplace_back("log_part", std::move(log_part));
  golden.extra.emplace_back("mean_rank", std::move(mean_rank));
  return golden;
}

}  // namespace assay
