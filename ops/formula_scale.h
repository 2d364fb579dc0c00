// SPDX-License-Identifier: Apache-2.0
// Relations of formula operators to executions with inputs times a power of two.
#pragma once

#include <optional>

#include "ops/formula_operator.h"
#include "ops/relation.h"

namespace assay {

// "scale": the first set of inputs whose common factor is one of the output in focus, one of them, or the first and
// another. Nothing is said of elements that underflow or overflow on the way, with or without the factor. nullopt:
// there is no such set.
std::optional<Relation> ScaleOf(const FormulaOperator& op, const Problem& problem);

}  // namespace assay
