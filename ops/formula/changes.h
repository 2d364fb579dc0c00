// SPDX-License-Identifier: Apache-2.0
// Formulas that may have been computed instead of the one that was meant: they differ in one place, as by everyday
// mistakes (a function left out, another constant, operands exchanged, a reduction of one term less).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/formula/graph.h"

namespace assay::formula {

struct GraphChange {
  int node = 0;
  int rule = 0;      // of the table in change_rules.cc
  int user = -1;     // the one node for which it differs; -1: all that read it; kAllButOutputs: but not what is stored
  std::string text;  // "x in place of x + bias"
  // Stands in place of a constant, found from the result; then there is no rule.
  std::optional<double> number;
};

inline constexpr int kAllButOutputs = -2;

// Lists changes of each node from the outputs back to the inputs, likely mistakes first; none of a graph of more nodes
// than kMostChangedNodes, since trying them takes the square of it, or with more than kMostMoved places of elements
// that are moved. Steps that are written out one after the other, as those of a loop, are left: a kernel has its
// mistake in all of them.
inline constexpr size_t kMostChangedNodes = 200, kMostMoved = 1 << 16;
std::vector<GraphChange> ListGraphChanges(const Graph& graph);

// The change of a constant to this number.
GraphChange ReplaceConstant(const Graph& graph, int node, double number);

// nullopt: the change is of a graph of other nodes. Extents may differ.
std::optional<Graph> ChangeGraph(const Graph& graph, const GraphChange& change);

}  // namespace assay::formula
