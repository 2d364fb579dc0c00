// SPDX-License-Identifier: Apache-2.0
// Recognises a matrix product whose partial sums were stored in a narrower format between blocks of terms (split-k with
// a workspace in f16, accumulators that are spilled): by forming such sums and comparing, not by the size of errors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "harness/base/dtype.h"
#include "harness/compare/judge.h"
#include "ops/op_info.h"

namespace assay {

// What is stored: "sums of 32 terms", "sums of 2 equal parts", "a running sum every 64 terms". nullopt: nothing that is
// tried gives these results, or the operator is no matmul without an epilogue. `judge` is of the case's
// golden values and declared contract, whose roundings are all that may remain, but for the odd partial sum that these
// lift over a tie. Of large outputs evenly spread elements are formed.
std::optional<std::string> FindRoundedPartials(const Problem& problem, std::span<const Tensor> inputs,
                                               const ElementJudge& judge, const Tensor& got, const FloatFormat& format);

// The statistic of errors of the size that `got` has all over, for finding a wrong element among them. nullopt: there
// are none.
std::optional<StatisticModel> StatisticOfOwnErrors(const Golden& golden, const Tensor& got, double u_acc);

}  // namespace assay
