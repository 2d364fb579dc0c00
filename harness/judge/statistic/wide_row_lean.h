// SPDX-License-Identifier: Apache-2.0
// Rows that lean where nothing is stored in 16 bits: an epsilon of 1e-5 for 1e-6 makes all rows of an rms_norm smaller
// by 4.5e-6, which the roundings of a sum of 4,096 squares may do to each, but not to all of them.
//
// A row counts where its c is beyond what legal kernels may give to all rows: what functions, constants, weights and
// one rounding of each operation cost (Operator::LeanOfSlices), what sums lose to one side (sum_lean.h), the output's
// rounding, and the squares of deviations, which have one sign. What is left has either sign alike in a legal row, so
// that one row in two counts at most. The size of random roundings is not asked.
#pragma once

#include <optional>
#include <span>

#include "harness/judge/statistic/row_lean.h"

namespace assay {

// nullopt: they do not lean, or nothing is known of them: of outputs of fewer bits than f32, of data that do not look
// random, of contracts that the statistic says nothing of.
std::optional<RowLean> FindWideRowLean(const Operator& op, const Problem& problem, size_t output,
                                       std::span<const Tensor> inputs, const ElementJudge& judge,
                                       const Contract& contract, const Tensor& got);

}  // namespace assay
