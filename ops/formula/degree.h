// SPDX-License-Identifier: Apache-2.0
// What a common factor of inputs does to an output, as far as the graph shows it (homogeneity).
#pragma once

#include <optional>
#include <vector>

#include "ops/formula/graph.h"

namespace assay::formula {

// The power of a factor above zero that a node gets when these inputs get it; nullopt: there is none, or the graph does
// not show it. What is zero for all inputs has any, 0 here.
std::optional<int> DegreeOf(const Graph& graph, int node, const std::vector<bool>& scaled);

}  // namespace assay::formula
