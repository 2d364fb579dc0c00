// SPDX-License-Identifier: Apache-2.0
// Results of one run beside each other, case by case: which implementations give equal bits, which is nearest to the
// golden values, and which one stands alone.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/model/record.h"

namespace assay {

// All that ran one case on equal inputs.
struct ComparedResults {
  std::string case_id;
  std::vector<const Record*> results;
  std::vector<std::vector<size_t>> equal;  // results of equal bits, the largest set first
  std::optional<size_t> nearest;           // smallest rms error against the golden values; none: it is not known of all
  // The one that alone fails of three or more, or that alone has other bits than all of them.
  std::optional<size_t> odd;
};

// Cases that at least two of these results ran, in the order of the records.
std::vector<ComparedResults> CompareInCases(std::span<const Record* const> records);

struct PairBetween {
  std::string first, second;  // names of implementations
  int64_t cases = 0, equal = 0, first_nearer = 0, second_nearer = 0;
};
// Each pair of implementations that ran one case, in the order of their names; of several backends those of different
// ones.
std::vector<PairBetween> ComparePairs(const std::vector<ComparedResults>& cases);

// "cpu naive", or "opencl naive on GPU"
std::string NameBetween(const Record& record);

// "odd one out: cpu naive, of 4 implementations", where one stands alone and fails; "" elsewhere. For the result of one
// case beside the others of that case.
std::string OddOneOutText(const ComparedResults& of);

}  // namespace assay
