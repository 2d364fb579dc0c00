// SPDX-License-Identifier: Apache-2.0
#include "harness/compare/statistic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/compare/localise.h"

namespace assay {
namespace {

// The unit roundoff of an accumulator that would explain the error beyond the output's own rounding (SPEC.md 6).
std::optional<double> EffectiveBits(double mean_e2, double mean_ulp2, double mean_sigma2, double u_acc) {
  const double rounding = mean_ulp2 / 12;
  const double beyond = mean_e2 - rounding;
  // Below a tenth of the rounding's own variance the difference is noise.
  if (beyond <= 0.1 * rounding || mean_sigma2 <= 0 || u_acc <= 0) return std::nullopt;
  const double bits = -std::log2(u_acc * std::sqrt(beyond / mean_sigma2));
  return std::isfinite(bits) ? std::optional(bits) : std::nullopt;
}

// Counts the values beyond the threshold and describes them.
void FindOutliers(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks,
                  StatisticOutcome& outcome) {
  const int parts = IsComplex(judge.dtype()) ? 2 : 1;
  TileReader reader(judge, got);
  FailureMap map(got.shape());
  std::string worst;
  double largest = 0;
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    if (!(chunks[chunk].max[kMaxR] > kElementThreshold)) continue;
    ForEachInChunk(judge, reader, static_cast<int64_t>(chunk), [&](int64_t i, double x, const Judgement& judged) {
      const double r = judge.Open(i) ? 0 : judge.Deviation(i, judged, x);
      if (!(r > kElementThreshold)) return;
      ++outcome.outliers;
      map.Add(i / parts);
      if (!(r > largest)) return;
      largest = r;
      worst = fmt::format("element {} got {:.9g}, golden {:.9g}, {:.3g} standard deviations off",
                          IndexText(got.shape(), i / parts), x, judge.golden().value[static_cast<size_t>(i)], r);
    });
  }
  if (outcome.outliers == 0) return;
  outcome.reason = fmt::format("{} beyond {:g} standard deviations of the contract's roundings, worst {}; {}",
                               outcome.outliers, kElementThreshold, worst, map.Text());
}

void DescribeGroup(const Tensor& got, StatisticOutcome& outcome) {
  const GroupFinding& group = outcome.group;
  if (!outcome.reason.empty()) outcome.reason += "; ";
  outcome.reason += fmt::format("{} has errors of {:.3g} standard deviations in the mean over {} values, limit {:.3g}",
                                GroupText(got.shape(), IsComplex(got.dtype()) ? 2 : 1, group), group.rms, group.members,
                                group.rms / group.margin);
}

}  // namespace

bool StatisticApplies(const ElementJudge& judge, bool even_if_stagnating) {
  const StatisticModel& model = judge.bound().statistic;
  return !judge.params().exact && !judge.params().integer && !judge.golden().sigma.empty() && model.applicable &&
         (even_if_stagnating || !model.stagnates);
}

StatisticOutcome JudgeStatistic(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks,
                                const ChunkTotals& total, GroupSums* groups) {
  StatisticOutcome outcome;
  outcome.applicable = total.finite > 0;
  if (!outcome.applicable) return outcome;
  const auto n = static_cast<double>(total.finite);
  const auto& sum = total.sum;
  outcome.sum_r2 = sum[kSumR2];
  outcome.max_r = total.max[kMaxR];
  outcome.sigma_acc_rms = std::sqrt(sum[kSumSigma2] / n);
  outcome.effective_bits = EffectiveBits(sum[kSumE2] / n, sum[kSumUlp2] / n, sum[kSumSigma2] / n, judge.params().u_acc);
  outcome.bias_z = sum[kSumBias] / std::sqrt(n);
  outcome.margin = outcome.max_r / kElementThreshold;
  if (outcome.margin > 1) FindOutliers(judge, got, chunks, outcome);
  if (groups != nullptr) {
    outcome.group = groups->Worst();
    outcome.margin = std::max(outcome.margin, outcome.group.margin);
    if (outcome.group.margin > 1) DescribeGroup(got, outcome);
  }
  CalibrateOnItself(judge, got, chunks, outcome);
  return outcome;
}

}  // namespace assay
