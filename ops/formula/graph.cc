// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/graph.h"

#include <algorithm>

#include "ops/formula/functions.h"

namespace assay::formula {
namespace {

// Nodes that lead to the output.
std::vector<bool> NodesOf(const Graph& graph, size_t output) {
  std::vector<bool> needed(graph.nodes.size());
  needed[static_cast<size_t>(graph.outputs[output].node)] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {  // operands stand first
    if (!needed[i]) continue;
    for (const int arg : graph.nodes[i].args) needed[static_cast<size_t>(arg)] = true;
  }
  return needed;
}

// Where something can be forgotten on the way to an output.
std::vector<bool> TermsOf(const Graph& graph, size_t output) {
  std::vector<bool> nodes = NodesOf(graph, output);
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i] = nodes[i] && CanForget(graph.nodes[i].kind);
  }
  return nodes;
}

// Terms of this output that are shown by another one which has only some of them.
std::vector<bool> ShownElsewhere(const Graph& graph, size_t output) {
  const std::vector<bool> own = TermsOf(graph, output);
  std::vector<bool> shown(own.size());
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    const std::vector<bool> of_other = TermsOf(graph, k);
    bool are_own = true, are_fewer = false;
    for (size_t i = 0; i < own.size(); ++i) {
      are_own = are_own && (own[i] || !of_other[i]);
      are_fewer = are_fewer || (own[i] && !of_other[i]);
    }
    for (size_t i = 0; i < own.size() && are_own && are_fewer; ++i) shown[i] = shown[i] || of_other[i];
  }
  return shown;
}

}  // namespace

Graph KeepOutput(Graph graph, size_t output) {
  const std::vector<bool> needed = NodesOf(graph, output);
  const std::vector<bool> shown = ShownElsewhere(graph, output);
  std::vector<int> place(graph.nodes.size(), -1);
  Graph kept{.axes = std::move(graph.axes),
             .nodes = {},
             .inputs = std::move(graph.inputs),
             .outputs = {std::move(graph.outputs[output])}};
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!needed[i]) continue;
    place[i] = static_cast<int>(kept.nodes.size());
    Node& node = kept.nodes.emplace_back(std::move(graph.nodes[i]));
    node.shown_elsewhere = shown[i];
    for (int& arg : node.args) arg = place[static_cast<size_t>(arg)];
  }
  kept.outputs[0].node = place[static_cast<size_t>(kept.outputs[0].node)];
  return kept;
}

bool IsElementwise(const Graph& graph) {
  const auto is_flat = [](const auto& operand) { return operand.axes.size() == 1; };
  const auto is_local = [](const Node& node) {
    return node.kind == Kind::kIn || node.kind == Kind::kConst || node.kind == Kind::kMap || node.kind == Kind::kRound;
  };
  return graph.axes.size() == 1 && std::ranges::all_of(graph.inputs, is_flat) &&
         std::ranges::all_of(graph.outputs, is_flat) && std::ranges::all_of(graph.nodes, is_local);
}

double CountFlops(const Graph& graph) {
  double flops = 0;
  for (const Node& node : graph.nodes) {
    if (node.kind == Kind::kMap) flops += static_cast<double>(graph.ExtentOf(node.axes));
    if (IsReduction(node.kind)) flops += static_cast<double>(graph.ExtentOf(node.axes | node.reduced));
    if (node.kind == Kind::kScatterAdd) flops += static_cast<double>(graph.ExtentOf(graph.At(node.args[1]).axes));
    if (node.kind == Kind::kTopK) {
      flops += static_cast<double>(graph.ExtentOf((node.axes & ~SetOf(node.axis)) | SetOf(node.from_axis)));
    }
    if (node.kind == Kind::kRecur) {
      flops += static_cast<double>(node.args.size()) * static_cast<double>(graph.ExtentOf(node.axes));
    }
  }
  return flops;
}

}  // namespace assay::formula
