// SPDX-License-Identifier: Apache-2.0
// Homogeneity: how a common factor of inputs scales an output, as far as the graph shows it.
#pragma once

#include <optional>
#include <vector>

#include "ops/formula/graph.h"

namespace assay::formula {

// The power of a factor above zero that a node gets when these inputs get it; nullopt: there is none, or the graph does
// not show it. What is zero for all inputs has any, 0 here.
std::optional<int> DegreeOf(const Graph& graph, int node, const std::vector<bool>& scaled);

// Parity: how a change of sign of inputs affects an output, as far as the graph shows it.
enum class Parity : uint8_t { kEven, kOdd, kNone };

// Parity of the node when these inputs change their signs together.
Parity ParityOf(const Graph& graph, int node, const std::vector<bool>& negated);

}  // namespace assay::formula
