// SPDX-License-Identifier: Apache-2.0
// Where a formula stops promising anything of an element of its output: the first step on the way there whose result
// may be anything although its operands are bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/formula/error.h"

namespace assay::formula {

enum class OpeningKind : uint8_t {
  kDivisor,    // a divisor that is or may be 0
  kDomain,     // an operand that is or may be outside of where the function is defined
  kRange,      // a number beyond those of the arithmetic
  kNonFinite,  // an infinity or NaN whose effect roundings decide
  kCondition,  // a condition that roundings decide
  kPlace,      // a place that roundings decide, or that does not exist
  kInteger,    // an integer that its type does not hold
  kOrder,      // another order of computation, in which something leaves the range
};

struct Opening {
  OpeningKind kind = OpeningKind::kOrder;
  std::string text;  // a clause, as "the divisor x - 1 of 1 / (x - 1) may be 0"
};

// nullopt: these rules bound the element.
std::optional<Opening> FindOpening(const Graph& graph, const OutputInfo& output,
                                   const std::vector<std::vector<double>>& inputs, bool double_double,
                                   const ErrorRules& rules, int64_t element);

}  // namespace assay::formula
