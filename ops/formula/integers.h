// SPDX-License-Identifier: Apache-2.0
// Integers and conditions. Sums, differences and products of integers have no rounding as long as the arithmetic holds
// them, so that conditions, counts and computed places are exact.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "golden/dd/dd.h"
#include "ops/formula/graph.h"

namespace assay::formula {

// Numbers that a node can have, from those of its operands, which are in the graph. Inputs have what `node` says.
Numbers NumbersOf(const Graph& graph, const Node& node);

// Whether an output of integers is computed of integers alone, none of which leaves a double-double on the way but for
// products that may wrap around there. Its results are those of registers of its type: what is added and multiplied
// wraps around. `inputs`: their types.
bool StaysInIntegers(const Graph& graph, std::span<const DType> inputs, DType output);
// Returns the graph with limits: the results of kernels that wrap around before a comparison, a choice or a wider type
// differ from those of one that does not, so that they are undefined. Precondition: StaysInIntegers.
Graph LimitToRegisters(Graph graph, std::span<const DType> inputs, DType output);
// Returns whether the output depends on each node modulo 2^bits alone: nothing on the way compares it or divides it.
std::vector<bool> FindKeptModuli(const Graph& graph);
// Marks products of too many digits for a double-double, whose last 64 bits decide the output (Graph::wraps).
std::vector<bool> FindWrappingProducts(const Graph& graph, std::span<const DType> inputs);
// Returns the integer that `exact` is in a register of this type; none if it is not finite.
std::optional<int64_t> WrapExact(DType type, DD exact);

// How kernels hold the integers of a node.
enum class Held : uint8_t {
  kRounded,  // like real numbers: kernels may distribute them over other factors and terms, which rounds
  kStored,   // exactly up to the largest integer that the accumulator and stored partial results hold
  kIndex,    // exactly: they are computed of indices, places and constants alone
};
std::vector<Held> FindHeldIntegers(const Graph& graph);

}  // namespace assay::formula
