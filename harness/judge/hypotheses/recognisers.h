// SPDX-License-Identifier: Apache-2.0
// Looks for signs of weaker arithmetic in the errors of a result: by computing it likewise, or by their places.
//
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

// Whether errors keep to places, as those of a wrong edge, tile or lane do. A weaker arithmetic makes them wherever its
// sums are.
//
// Among results whose errors exceed what `declared` makes of its roundings, looks for a coordinate, lane, side or tile
// with at least four times as many, or as few, as the others have, in proportion to what the deviations of `by_class`
// lead one to expect, and more than chance brings (2 times in 10^8). A lane is every 2nd to 64th coordinate of an axis,
// a side all before or behind one, a tile 16 or 64 wide in the last two axes. Both judges have golden values of equal
// operands.
bool HasConfinedErrors(const ElementJudge& declared, const ElementJudge& by_class, const Tensor& got);

// Recognises an operator whose intermediates were kept in a narrower format by computing it likewise and comparing.
//
// The text of the order that leaves least of the errors of `got`: at most a tenth of their squares, and of no element
// more than what a handful of intermediates make that round to the other side. Errors count in the deviations that
// `by_class` has, the judge of the contract with such intermediates; `declared` is that of the declared one. nullopt:
// no order does, or there are too few roundings to tell. Of large outputs evenly spread rows are computed.
std::optional<std::string> FindNarrowedOrder(const Problem& problem, const NarrowedOrders& orders,
                                             const ElementJudge& declared, const ElementJudge& by_class,
                                             const Tensor& got);

}  // namespace assay
