// SPDX-License-Identifier: Apache-2.0
// Sums that ranks share, as the layers of a tensor-parallel model have them: each rank computes the case with its part
// of the terms, and their results are added in one of the orders that communication libraries have.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "harness/tools/align/configurations.h"
#include "ops/subproblem.h"

namespace assay {

// Results are added one after the other; pair by pair; or as a ring reduces them, where each of as many parts of the
// output as there are ranks begins at another rank. Each sum is rounded to the output's type.
enum class RankOrder { kInOrder, kTree, kRing };

Tensor SumOverRanks(std::span<const Tensor> parts, RankOrder order);

// Takes the terms `cut` from the inputs of the whole case, in the shapes that the part's problem has.
std::vector<Tensor> TakeTerms(const std::vector<Tensor>& whole, const SliceCut& cut, const Problem& part);

// Each axis of terms of the first output: its axis in each input (-1: none), by its extent.
std::vector<std::pair<int64_t, std::vector<int64_t>>> ListSummedAxes(const Operator& op, const Problem& problem);

// For each number of ranks and each axis of terms that it divides, one configuration an order. Whether its parts are
// the case's terms shows in the values alone: the results of other cases are beyond their tolerances.
std::vector<Configuration> ListRankSums(const Operator& op, const Problem& problem, std::span<const int64_t> ranks);

}  // namespace assay
