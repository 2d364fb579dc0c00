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

void AddReason(StatisticFinding& finding, const std::string& reason) {
  if (!finding.reason.empty() && !reason.empty()) finding.reason += "; ";
  finding.reason += reason;
}

// Single values, and where they cluster. A row that shares its errors exceeds any level as a whole: no scan.
void JudgeOutliers(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks, bool of_sample,
                   StatisticFinding& finding) {
  const Outliers outliers = FindOutliers(judge, got, chunks);
  finding.outliers = outliers.count;
  finding.furthest = outliers.worst;
  finding.reason = DescribeExtremes(judge, got, outliers, of_sample);
  if (judge.bound().statistic.shared) return;
  const int parts = IsComplex(got.dtype()) ? 2 : 1;
  finding.cluster = outliers.count > kMostScanned ? WholeCluster(got.shape(), parts, outliers.count)
                                                  : WorstCluster(got.shape(), parts, outliers.values);
  finding.margin = std::max(finding.margin, finding.cluster.margin);
  if (finding.cluster.margin <= 1) return;
  AddReason(finding,
            fmt::format("{} of {} values beyond {:g} standard deviations lie in {}, limit {}", finding.cluster.count,
                        finding.outliers, kOutlierLevel, finding.cluster.where, finding.cluster.limit));
}

// A whole tensor whose errors lean to one side, each of them within what roundings may be.
void JudgeBias(const ElementJudge& judge, double sum, int64_t finite, StatisticFinding& finding) {
  const Bias bias = MeasureBias(judge, sum, finite);
  finding.bias_margin = bias.margin;
  finding.margin = std::max(finding.margin, bias.margin);
  if (bias.margin <= 1) return;
  AddReason(finding, fmt::format("errors lean {} zero by {:.3g} standard deviations in the mean over {} values, limit "
                                 "{:.3g} of roundings to nearest",
                                 bias.lean < 0 ? "toward" : "away from", std::fabs(bias.lean), finite, bias.limit));
}

// Results that end in too many zeros, however small their errors are. A share of how many may is no measure of errors:
// it counts where it fails.
void JudgeGranularity(const ElementJudge& judge, const Tensor& got, StatisticFinding& finding) {
  finding.granularity = MeasureGranularity(judge, got);
  if (finding.granularity.margin <= 1) return;
  finding.margin = std::max(finding.margin, finding.granularity.margin);
  AddReason(finding, finding.granularity.Text());
}

void JudgeGroups(const GroupFinding& group, const Tensor& got, StatisticFinding& finding) {
  finding.group = group;
  finding.margin = std::max(finding.margin, group.margin);
  if (group.members > 0) finding.group_where = GroupText(got.shape(), IsComplex(got.dtype()) ? 2 : 1, group);
  if (group.margin <= 1) return;
  AddReason(finding, fmt::format("{} has errors of {:.3g} standard deviations in the mean over {} values, limit {:.3g}",
                                 finding.group_where, group.rms, group.members, group.rms / group.margin));
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

StatisticFinding JudgeStatistic(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks,
                                const ChunkTotals& total, GroupSums* groups, bool of_sample) {
  StatisticFinding finding;
  finding.applicable = total.finite > 0;
  if (!finding.applicable) return finding;
  const auto n = static_cast<double>(total.finite);
  const auto& sum = total.sum;
  finding.sum_r2 = sum[kSumR2];
  finding.max_r = std::sqrt(total.max[kMaxR2]);
  finding.sigma_acc_rms = std::sqrt(sum[kSumSigma2] / n);
  finding.effective_bits = EffectiveBits(sum[kSumE2] / n, sum[kSumUlp2] / n, sum[kSumSigma2] / n, judge.params().u_acc);
  finding.bias_z = sum[kSumBias] / std::sqrt(n);
  finding.margin = finding.max_r / kElementThreshold;
  if (finding.max_r > kOutlierLevel) JudgeOutliers(judge, got, chunks, of_sample, finding);
  if (judge.bound().statistic.lean) JudgeBias(judge, sum[kSumBias], total.finite, finding);
  if (judge.bound().statistic.partial_sums) JudgeGranularity(judge, got, finding);
  if (groups != nullptr) JudgeGroups(groups->Worst(), got, finding);
  if (judge.bound().statistic.shared_row) {
    finding.shared_row = JudgeSharedRows(judge, got);
    finding.margin = std::max(finding.margin, finding.shared_row.margin);
    if (finding.shared_row.margin > 1) AddReason(finding, finding.shared_row.Text(got.shape()));
  }
  CalibrateOnItself(judge, got, chunks, finding);
  return finding;
}

}  // namespace assay
