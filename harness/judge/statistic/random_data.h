// SPDX-License-Identifier: Apache-2.0
// Whether data that somebody brings look as if they were drawn at random, by themselves: the statistic's model speaks
// of such data, and of no others can it prove anything.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "harness/data/tensor.h"
#include "harness/model/contract.h"
#include "ops/operator.h"

namespace assay {

// Why errors on these operands need not behave like independent roundings of sums in any order; "": nothing says so.
// Operands of floats have to be finite, with values that do not repeat more than their precision makes them, no few
// large ones, no relation between neighbours along any axis, and running sums (also of squares, and of the products of
// `furthest`, the element with the largest deviation; -1: no element is far off) whose rounding errors in `contract`'s
// accumulator, forward and backward, are no further off than random ones. Constant operands and those of fewer than
// kFewestTold elements are left out, and some other one has to be there. One in 10,000 sets of independent data of a
// continuous distribution is refused.
std::string WhyNotRandom(const Operator& op, const Problem& problem, std::span<const Tensor> inputs, int64_t furthest,
                         const Contract& contract);

// Overload for one operand; precondition: it is of floats or complex numbers. `precision` is that of the sums that are
// tried.
std::string WhyNotRandom(const Tensor& tensor, int precision);

inline constexpr int64_t kFewestTold = 32;

}  // namespace assay
