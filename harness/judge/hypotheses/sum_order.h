// SPDX-License-Identifier: Apache-2.0
// Recognises in which order a matrix product was summed and where it was rounded, by summing likewise and comparing,
// not by the size of errors.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/data/dtype.h"
#include "harness/judge/judge.h"
#include "ops/operator.h"

namespace assay {

// Products and running sums of one element.
struct SumTerms {
  std::vector<double> products;
  std::vector<double> sums;  // [t]: of the first t products
};

struct PredictedSum {
  double value = 0;    // before the output's rounding
  double largest = 0;  // rounded partial sum
};

struct SumOrder {
  std::string text;
  std::function<PredictedSum(const SumTerms&)> predict;
};

struct RecognisedOrder {
  std::string text;
  int64_t off = 0;  // results that are not the rounded exact value: the ones that tell
};

// The first of `orders` that gives a share of at least `least_matched` of these results, up to the roundings of the
// declared contract, and the others but for a partial sum that these lift over a tie. nullopt: none
// does. `judge` is of the case's golden values and declared contract; `format` is
// the one of partial sums. Of large outputs evenly spread elements are formed.
std::optional<RecognisedOrder> RecogniseOrder(const SumProducts& products, const ElementJudge& judge, const Tensor& got,
                                              const FloatFormat& format, std::span<const SumOrder> orders,
                                              double least_matched);

// Whether one of `orders` may have given these results: false where each is refuted by one of them.
bool AnyOrderPossible(const SumProducts& products, const ElementJudge& judge, const Tensor& got,
                      const FloatFormat& format, std::span<const SumOrder> orders);

}  // namespace assay
