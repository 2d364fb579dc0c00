// SPDX-License-Identifier: Apache-2.0
// Parity: how a change of sign of inputs affects an output, as far as the graph shows it.
#pragma once

#include <vector>

#include "ops/formula/graph.h"

namespace assay::formula {

enum class Parity : uint8_t { kEven, kOdd, kNone };

// Parity of the node when these inputs change their signs together.
Parity ParityOf(const Graph& graph, int node, const std::vector<bool>& negated);

}  // namespace assay::formula
