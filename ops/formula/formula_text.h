// SPDX-License-Identifier: Apache-2.0
// Formulas as people write them, for messages.
#pragma once

#include <string>

#include "ops/formula/graph.h"

namespace assay::formula {

// A node for people, as "sqrt(mean(x * x) + 1e-05)"; what lies deeper is "...".
std::string FormulaText(const Graph& graph, int node);

}  // namespace assay::formula
