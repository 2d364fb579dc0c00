// SPDX-License-Identifier: Apache-2.0
// The values of a tensor beyond kOutlierLevel standard deviations, in memory that does not grow with their number: of a
// wrong kernel that is every value.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/core/data/tensor.h"
#include "harness/judge/kernel/chunk.h"
#include "harness/judge/localise.h"
#include "harness/judge/statistic/scan.h"

namespace assay {

// No element of N = 10^7 with normal errors reaches sqrt(2 ln(2 N / 1e-6)) = 7.8; the chance at 8 is 1e-15, so the
// budget that a binomial quantile would grant beyond it stays 0 for every tensor that fits a memory. The budget of what
// lies between kOutlierLevel and here, and its clusters: scan.h.
inline constexpr double kElementThreshold = 8;

struct Outliers {
  explicit Outliers(const Shape& shape) : extremes(shape) {}
  int64_t count = 0;
  std::vector<int64_t> values;  // where, ascending; empty when they are more than kMostScanned
  FailureMap extremes;          // elements with values beyond kElementThreshold
  int64_t worst = -1;           // the first of the largest; a value, as above
  float worst_r = 0;
};

// `chunks`: the totals of `got`, which say where to look.
Outliers FindOutliers(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks);

}  // namespace assay
