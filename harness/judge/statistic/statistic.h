// SPDX-License-Identifier: Apache-2.0
// The statistic channel (harness/judge/README.md#statistic-element-by-element): whether errors inside the hard bound
// behave like the roundings that the contract permits. r = max(0, |e| - half the output's spacing - T) /
// sqrt(sigma_acc^2 + E_gold^2), with sigma_acc and the systematic part T from the bound's StatisticModel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/data/fill/fill.h"
#include "harness/core/data/tensor.h"
#include "harness/judge/kernel/chunk.h"
#include "harness/judge/statistic/granularity.h"
#include "harness/judge/statistic/outliers.h"
#include "harness/judge/statistic/scan.h"
#include "harness/judge/statistic/shared_rows.h"

namespace assay {

struct StatisticFinding {
  bool applicable = false;  // needs a sigma plane and a contract whose errors behave like independent roundings
  double sum_r2 = 0, max_r = 0;
  int64_t furthest = -1;  // the value with max_r, where that is beyond kOutlierLevel
  double sigma_acc_rms = 0;
  std::optional<double> effective_bits;  // none when the output's own rounding dominates
  double bias_z = 0;                     // sum of r with the sign of e times the sign of y, over sqrt(N)
  std::optional<double> bias_margin;     // where the contract rounds to nearest: see bias.h
  int64_t outliers = 0;                  // values beyond kOutlierLevel
  Cluster cluster;                       // of them, where errors are independent
  GroupFinding group;                    // with the largest margin
  std::string group_where;               // "column 5"; "" when no group was tested
  SharedRowFinding shared_row;           // where rows share an error
  Granularity granularity;               // where partial sums are no larger than S
  // The largest of max_r / kElementThreshold, bias, cluster, group and shared row, and granularity where that fails;
  // above 1 fails.
  double margin = 0;
  std::string reason;  // what fired and where; "" when nothing did
  // The largest error against the implementation's own robust scale, over 1.25 times 8: above 1 is suspect. None
  // where there is no such scale.
  std::optional<double> self_margin;
  std::string self_reason;

  bool Holds() const { return !applicable || margin <= 1; }
  bool Suspect() const { return applicable && self_margin.value_or(0) > 1; }
};

// Whether the model behind the channel holds for the contract. With `even_if_stagnating` sums that may stop growing
// count as random too: for finding out what arithmetic explains a result, not for judging it.
bool StatisticApplies(const ElementJudge& judge, bool even_if_stagnating = false);

// Whether the data of a case are such that the channel speaks of them: terms drawn at random, whose rounding errors
// behave like independent ones. TOSA's sets are, for the sums that they are made for.
bool StatisticFits(const FillSpec& fill, const StatisticModel& model);

// `groups` may be null: no group is tested then. `of_sample`: as of FailureMap::Text.
StatisticFinding JudgeStatistic(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks,
                                const ChunkTotals& total, GroupSums* groups, bool of_sample);

// The error of every part of an output against the median of its own: sigma_i^2 and the variance of the output's
// rounding scale each |e_i|, and the larger of median / 0.6745 and 99 % quantile / 2.576 over up to 8192 of them in
// each stratum (interior, last partial row of 64 x 64 tiles, last partial column, corner) is the implementation's
// scale. Zeros of no terms, which nothing rounds, do not count. The largest is sought in the chunks with the largest r.
// Sets self_margin and self_reason.
void CalibrateOnItself(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks,
                       StatisticFinding& finding);

}  // namespace assay
