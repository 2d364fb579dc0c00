// SPDX-License-Identifier: Apache-2.0
// Digest of a graph.
#pragma once

#include <string>

#include "ops/formula/graph.h"

namespace assay::formula {

// 16 hex digits over everything in a graph that its values and their errors depend on: nodes, constants, extents, the
// layouts of inputs and outputs. Names are not among them.
std::string DigestOf(const Graph& graph);

}  // namespace assay::formula
