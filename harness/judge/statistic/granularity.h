// SPDX-License-Identifier: Apache-2.0
// Results that have fewer bits than their type: rounded or cut off on the way, or stored in a narrower one. The last
// bits of a sum are as good as random: a result that ends in b zeros is one of 2^b. Partial sums that are 2^s times as
// large as the result leave s zeros of their own, and none of any order is larger than S. So of results whose golden
// value does not end in b zeros, and whose S is less than 2^(s+1) times as large, at most one of 2^(b-s) should; when
// most of them do, the results have b bits less than they claim. Nothing is assumed of how large errors are.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/data/tensor.h"
#include "harness/judge/judge.h"

namespace assay {

struct Granularity {
  double margin = 0;                 // of the results below, over how many may end so
  int zeros = 0;                     // b
  int64_t results = 0, so_many = 0;  // that tell of it (0: nothing does); of them, those that end in b zeros
  std::string Text() const;
};

// How often it may fire on one tensor of correct results, all b and s together.
inline constexpr double kGranularityDelta = 1e-9;
inline constexpr int64_t kMostGranularityResults = 512;  // of a larger output, so many that are spread over it

// Results with equal golden values are of the same terms and count once. Precondition: StatisticModel::partial_sums.
Granularity MeasureGranularity(const ElementJudge& judge, const Tensor& got);

// The largest number of `results` that may end so where the chance of each is `chance`: at least three in four of them,
// and no more than independent ones reach with kGranularityDelta. As many as there are where they are too few to tell.
int64_t MostCoarseResults(int64_t results, double chance);

}  // namespace assay
