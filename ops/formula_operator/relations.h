// SPDX-License-Identifier: Apache-2.0
// Relations of formula operators to executions with other signs and with powers of two as factors. The inputs that are
// changed are the first set that does: one of them, or the first and another.
#pragma once

#include <optional>

#include "ops/formula_operator/formula_operator.h"
#include "ops/relation.h"

namespace assay {

// "negation": inputs whose signs are the output's, or none of its business. No contract says that a function of -x is
// that of x with another sign, to the last bit. nullopt: there are none.
std::optional<Relation> NegationOf(const formula::Graph& graph);

// "scale": inputs whose common factor is one of this output. Nothing is said of elements that underflow or
// overflow on the way, with or without the factor. nullopt: there are none.
std::optional<Relation> ScaleOf(const FormulaOperator& op, const Problem& problem, size_t output);

}  // namespace assay
