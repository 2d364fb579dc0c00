// SPDX-License-Identifier: Apache-2.0
// Integers and conditions. Sums, differences and products of integers have no rounding as long as the arithmetic holds
// them, so that conditions, counts and computed places are exact.
#pragma once

#include <vector>

#include "ops/formula/graph.h"

namespace assay::formula {

// Numbers that a node can have, from those of its operands, which are in the graph. Inputs have what `node` says.
Numbers NumbersOf(const Graph& graph, const Node& node);

// How kernels hold the integers of a node.
enum class Held : uint8_t {
  kRounded,  // no integers; or they become factors or terms of real numbers, or of a function's argument, over which
             // kernels may distribute or join them, which rounds
  kStored,   // as the arithmetic holds them, and stored partial results
  kIndex,    // of indices, places and constants alone: as kernels compute with indices
};
std::vector<Held> FindHeldIntegers(const Graph& graph);

}  // namespace assay::formula
