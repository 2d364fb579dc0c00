// SPDX-License-Identifier: Apache-2.0
#include "harness/compare/statistic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/parallel.h"
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

struct Outlier {
  int64_t value = 0;  // index among golden values
  float r = 0;
};

// In ascending order.
std::vector<Outlier> FindOutliers(const ElementJudge& judge, const Tensor& got,
                                  const std::vector<ChunkTotals>& chunks) {
  std::vector<int64_t> searched;
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    if (std::sqrt(chunks[chunk].max[kMaxR2]) > kOutlierLevel) searched.push_back(static_cast<int64_t>(chunk));
  }
  std::vector<std::vector<Outlier>> found(searched.size());
  ParallelFor(std::ssize(searched), 1, [&](int64_t begin, int64_t end) {
    TileReader reader(judge, got);
    for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k) {
      ForEachInChunk(judge, reader, searched[k], [&](int64_t i, double x, const Judgement& judged) {
        const double r = judge.Open(i) ? 0 : judge.Deviation(i, judged, x);
        if (r > kOutlierLevel) found[k].push_back({i, static_cast<float>(r)});
      });
    }
  });
  std::vector<Outlier> all;
  for (const auto& some : found) all.insert(all.end(), some.begin(), some.end());
  return all;
}

// What lies beyond the element's threshold, in words; "" when nothing does.
std::string DescribeExtremes(const ElementJudge& judge, const Tensor& got, const std::vector<Outlier>& outliers) {
  const int parts = IsComplex(judge.dtype()) ? 2 : 1;
  FailureMap map(got.shape());
  int64_t count = 0;
  const Outlier* worst = nullptr;
  for (const Outlier& outlier : outliers) {
    if (!(static_cast<double>(outlier.r) > kElementThreshold)) continue;
    ++count;
    map.Add(outlier.value / parts);
    if (worst == nullptr || outlier.r > worst->r) worst = &outlier;
  }
  if (worst == nullptr) return "";
  TileReader reader(judge, got);
  reader.Read(worst->value, 1);
  return fmt::format(
      "{} beyond {:g} standard deviations of the contract's roundings, worst element {} got {:.9g}, golden {:.9g}, "
      "{:.3g} standard deviations off; {}",
      count, kElementThreshold, IndexText(got.shape(), worst->value / parts), reader.Got(0),
      judge.golden().value[static_cast<size_t>(worst->value)], worst->r, map.Text());
}

void AddReason(StatisticOutcome& outcome, const std::string& reason) {
  if (!outcome.reason.empty() && !reason.empty()) outcome.reason += "; ";
  outcome.reason += reason;
}

// Single values, and where they cluster. A row that shares its errors exceeds any level as a whole: no scan.
void JudgeOutliers(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks,
                   StatisticOutcome& outcome) {
  const std::vector<Outlier> outliers = FindOutliers(judge, got, chunks);
  outcome.outliers = std::ssize(outliers);
  outcome.reason = DescribeExtremes(judge, got, outliers);
  if (judge.bound().statistic.shared) return;
  std::vector<int64_t> values;
  for (const Outlier& outlier : outliers) values.push_back(outlier.value);
  outcome.cluster = WorstCluster(got.shape(), IsComplex(got.dtype()) ? 2 : 1, values);
  outcome.margin = std::max(outcome.margin, outcome.cluster.margin);
  if (outcome.cluster.margin <= 1) return;
  AddReason(outcome,
            fmt::format("{} of {} values beyond {:g} standard deviations lie in {}, limit {}", outcome.cluster.count,
                        outcome.outliers, kOutlierLevel, outcome.cluster.where, outcome.cluster.limit));
}

void DescribeGroup(const Tensor& got, StatisticOutcome& outcome) {
  const GroupFinding& group = outcome.group;
  AddReason(outcome, fmt::format("{} has errors of {:.3g} standard deviations in the mean over {} values, limit {:.3g}",
                                 GroupText(got.shape(), IsComplex(got.dtype()) ? 2 : 1, group), group.rms,
                                 group.members, group.rms / group.margin));
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
  outcome.max_r = std::sqrt(total.max[kMaxR2]);
  outcome.sigma_acc_rms = std::sqrt(sum[kSumSigma2] / n);
  outcome.effective_bits = EffectiveBits(sum[kSumE2] / n, sum[kSumUlp2] / n, sum[kSumSigma2] / n, judge.params().u_acc);
  outcome.bias_z = sum[kSumBias] / std::sqrt(n);
  outcome.margin = outcome.max_r / kElementThreshold;
  if (outcome.max_r > kOutlierLevel) JudgeOutliers(judge, got, chunks, outcome);
  if (groups != nullptr) {
    outcome.group = groups->Worst();
    outcome.margin = std::max(outcome.margin, outcome.group.margin);
    if (outcome.group.margin > 1) DescribeGroup(got, outcome);
  }
  CalibrateOnItself(judge, got, chunks, outcome);
  return outcome;
}

}  // namespace assay
