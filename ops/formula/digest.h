// SPDX-License-Identifier: Apache-2.0
// What values follow from, as a few digits.
#pragma once

#include <string>

#include "ops/formula/graph.h"

namespace assay::formula {

// Of everything in a graph that its values and their errors depend on: nodes, constants, extents, the layouts of inputs
// and outputs. Names are not among them. 16 hex digits.
std::string DigestOf(const Graph& graph);

}  // namespace assay::formula
