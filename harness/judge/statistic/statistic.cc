// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/statistic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/localise.h"
#include "harness/judge/statistic/bias.h"
#include "harness/judge/statistic/outliers.h"

namespace assay {
namespace {

// The unit roundoff of an accumulator that would explain the error beyond the output's own rounding
// (harness/judge/README.md#effective-bits).
std::optional<double> EffectiveBits(double mean_e2, double mean_ulp2, double mean_sigma2, double u_acc) {
  const double rounding = mean_ulp2 / 12;
  const double beyond = mean_e2 - rounding;
  // Below a tenth of the rounding's own variance the difference is noise.
  if (beyond <= 0.1 * rounding || mean_sigma2 <= 0 || u_acc <= 0) return std::nullopt;
  const double bits = -std::log2(u_acc * std::sqrt(beyond / mean_sigma2));
  return std::isfinite(bits) ? std::optional(bits) : std::nullopt;
}

// Describes the elements beyond the element threshold; "" if there are none.
std::string DescribeExtremes(const ElementJudge& judge, const Tensor& got, const Outliers& outliers, bool of_sample) {
  if (outliers.extremes.count() == 0) return "";
  const int64_t worst = outliers.worst;
  TileReader reader(judge, got);
  reader.Read(worst, 1);
  return fmt::format(
      "{} beyond {:g} standard deviations of the contract's roundings, worst element {} got {:.9g}, golden {:.9g}, "
      "{:.3g} standard deviations off; {}",
      outliers.extremes.count(), kElementThreshold, IndexText(got.shape(), worst / (IsComplex(judge.dtype()) ? 2 : 1)),
      reader.Got(0), judge.golden().value[static_cast<size_t>(worst)], outliers.worst_r,
      outliers.extremes.Text(of_sample));
}

void AddReason(StatisticOutcome& outcome, const std::string& reason) {
  if (!outcome.reason.empty() && !reason.empty()) outcome.reason += "; ";
  outcome.reason += reason;
}

// Single values, and where they cluster. A row that shares its errors exceeds any level as a whole: no scan.
void JudgeOutliers(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks, bool of_sample,
                   StatisticOutcome& outcome) {
  const Outliers outliers = FindOutliers(judge, got, chunks);
  outcome.outliers = outliers.count;
  outcome.furthest = outliers.worst;
  outcome.reason = DescribeExtremes(judge, got, outliers, of_sample);
  if (judge.bound().statistic.shared) return;
  const int parts = IsComplex(got.dtype()) ? 2 : 1;
  outcome.cluster = outliers.count > kMostScanned ? WholeCluster(got.shape(), parts, outliers.count)
                                                  : WorstCluster(got.shape(), parts, outliers.values);
  outcome.margin = std::max(outcome.margin, outcome.cluster.margin);
  if (outcome.cluster.margin <= 1) return;
  AddReason(outcome,
            fmt::format("{} of {} values beyond {:g} standard deviations lie in {}, limit {}", outcome.cluster.count,
                        outcome.outliers, kOutlierLevel, outcome.cluster.where, outcome.cluster.limit));
}

// A whole tensor whose errors lean to one side, each of them within what roundings may be.
void JudgeBias(const ElementJudge& judge, double sum, int64_t finite, StatisticOutcome& outcome) {
  const Bias bias = MeasureBias(judge, sum, finite);
  outcome.bias_margin = bias.margin;
  outcome.margin = std::max(outcome.margin, bias.margin);
  if (bias.margin <= 1) return;
  AddReason(outcome, fmt::format("errors lean {} zero by {:.3g} standard deviations in the mean over {} values, limit "
                                 "{:.3g} of roundings to nearest",
                                 bias.lean < 0 ? "toward" : "away from", std::fabs(bias.lean), finite, bias.limit));
}

// Results that end in too many zeros, however small their errors are. A share of how many may is no measure of errors:
// it counts where it fails.
void JudgeGranularity(const ElementJudge& judge, const Tensor& got, StatisticOutcome& outcome) {
  outcome.granularity = MeasureGranularity(judge, got);
  if (outcome.granularity.margin <= 1) return;
  outcome.margin = std::max(outcome.margin, outcome.granularity.margin);
  AddReason(outcome, outcome.granularity.Text());
}

void JudgeGroups(const GroupFinding& group, const Tensor& got, StatisticOutcome& outcome) {
  outcome.group = group;
  outcome.margin = std::max(outcome.margin, group.margin);
  if (group.members > 0) outcome.group_where = GroupText(got.shape(), IsComplex(got.dtype()) ? 2 : 1, group);
  if (group.margin <= 1) return;
  AddReason(outcome, fmt::format("{} has errors of {:.3g} standard deviations in the mean over {} values, limit {:.3g}",
                                 outcome.group_where, group.rms, group.members, group.rms / group.margin));
}

}  // namespace

bool StatisticApplies(const ElementJudge& judge, bool even_if_stagnating) {
  const StatisticModel& model = judge.bound().statistic;
  return !judge.params().exact && !IsInt(judge.dtype()) && !judge.golden().sigma.empty() && model.applicable &&
         (even_if_stagnating || !model.stagnates);
}

bool StatisticFits(const FillSpec& fill, const StatisticModel& model) {
  return IsRandomLike(fill) || (fill.kind == FillKind::kTosa && model.lean);
}

StatisticOutcome JudgeStatistic(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks,
                                const ChunkTotals& total, GroupSums* groups, bool of_sample) {
  StatisticOutcome outcome;
  outcome.applicable = total.finite > 0;
  if (!outcome.applicable) return outcome;
  const auto n = static_cast<double>(total.finite);
  const auto& sum = total.sum;
  outcome.sum_r2 = sum[kSumR2];
  outcome.max_r = std::sqrt(total.max[kMaxR2]);
  outcome.sigma_acc_rms = std::sqrt(sum[kSumSigma2] / n);
  outcome.effective_bits = EffectiveBits(sum[kSumE2] / n, sum[kSumUlp2] / n, sum[kSumSigma2] / n, judge.params().u_acc);
  outcome.bias_z = sum[kSumBias] / std::sqrt(n);
  outcome.margin = outcome.max_r / kElementThreshold;
  if (outcome.max_r > kOutlierLevel) JudgeOutliers(judge, got, chunks, of_sample, outcome);
  if (judge.bound().statistic.lean) JudgeBias(judge, sum[kSumBias], total.finite, outcome);
  if (judge.bound().statistic.partial_sums) JudgeGranularity(judge, got, outcome);
  if (groups != nullptr) JudgeGroups(groups->Worst(), got, outcome);
  if (judge.bound().statistic.shared_row) {
    outcome.shared_row = JudgeSharedRows(judge, got);
    outcome.margin = std::max(outcome.margin, outcome.shared_row.margin);
    if (outcome.shared_row.margin > 1) AddReason(outcome, outcome.shared_row.Text(got.shape()));
  }
  CalibrateOnItself(judge, got, chunks, outcome);
  return outcome;
}

}  // namespace assay
