// SPDX-License-Identifier: Apache-2.0
// Whether data that somebody brings look as if they were drawn at random, by themselves: the statistic's model speaks
// of such data, and of no others can it prove anything.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "harness/core/data/tensor.h"
#include "harness/core/model/contract.h"
#include "ops/operator.h"

namespace assay {

// Why errors on these operands need not behave like independent roundings of sums in any order; "": nothing says so.
// Operands of floats have to be finite, with values that do not repeat more than their precision makes them, no few
// large ones, and no relation between neighbours along any axis. Rounding errors of the sums that the operator forms
// for `furthest`, the element with the largest deviation (-1: no element is far off), forward and backward in
// `contract`'s accumulator, have to be no further off than those of random terms. Constant operands and those of fewer
// than kFewestTold elements are left out, and some other one has to be there. One in 10,000 sets of independent data of
// a continuous distribution is refused.
std::string ExplainNotRandom(const Operator& op, const Problem& problem, size_t output, std::span<const Tensor> inputs,
                             int64_t furthest, const Contract& contract);

// Overload for one operand by itself; precondition: it is of floats or complex numbers.
std::string ExplainNotRandom(const Tensor& tensor);

inline constexpr int64_t kFewestTold = 32;

// Terms of the longest sum on the way to an output element, as Operator::SummedTerms lists them; 0 if it lists none.
int64_t CountLongestSum(const Operator& op, const Problem& problem, size_t output, std::span<const Tensor> inputs,
                        const Contract& contract, int64_t element);

}  // namespace assay
