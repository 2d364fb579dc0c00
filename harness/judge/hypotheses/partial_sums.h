// SPDX-License-Identifier: Apache-2.0
// Recognises a matrix product whose partial sums were stored in a narrower format between blocks of terms (split-k with
// a workspace in f16, accumulators that are spilled), or that was summed in one, in the usual orders.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "harness/core/data/dtype.h"
#include "harness/judge/judge.h"
#include "ops/operator.h"

namespace assay {

// Describes the stored partial sums: "sums of 32 terms", "sums of 2 equal parts", "a running sum every 64 terms".
// nullopt if RecogniseOrder accepts no order that is tried.
std::optional<std::string> FindRoundedPartials(const SumProducts& products, const ElementJudge& judge,
                                               const Tensor& got, const FloatFormat& format);

// How an accumulator of `format` was used: "one term after another", "4 terms at a time". nullopt likewise, or too few
// results are off to tell.
std::optional<std::string> FindNarrowSums(const SumProducts& products, const ElementJudge& judge, const Tensor& got,
                                          const FloatFormat& format);

// Whether those two may find something in a case that `got` is some elements of: false where each order is refuted.
bool MayRoundPartials(const SumProducts& products, const ElementJudge& judge, const Tensor& got,
                      const FloatFormat& format);
bool MaySumNarrowly(const SumProducts& products, const ElementJudge& judge, const Tensor& got,
                    const FloatFormat& format);

// The statistic of errors of the size that `got` has all over, for finding a wrong element among them. nullopt: there
// are none.
std::optional<StatisticModel> StatisticOfOwnErrors(const Golden& golden, const Tensor& got, double u_acc);

}  // namespace assay
