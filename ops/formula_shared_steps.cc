// SPDX-License-Identifier: Apache-2.0
// Which numbers of a formula all elements of a row use: those that lie along the first axes of the output alone.
#include <algorithm>
#include <cmath>

#include "ops/formula/evaluate.h"
#include "ops/formula_operator.h"
#include "ops/formula_reach.h"

namespace assay {
namespace {

using formula::AxisSet;
using formula::Graph;
using formula::Kind;
using formula::Node;

bool IsComputed(const Node& node) {
  return node.kind != Kind::kIn && node.kind != Kind::kConst && node.kind != Kind::kIndex;
}

// The first axes of the output along which, and along no other, something is computed; empty: there are none. Steps of
// recurrences and selections are no roundings of one number that a whole row uses.
std::vector<int> AxesOfRows(const Graph& graph) {
  const auto is_other = [](const Node& node) {
    return node.kind == Kind::kRecur || node.kind == Kind::kTopK || node.kind == Kind::kScatterAdd;
  };
  if (std::ranges::any_of(graph.nodes, is_other)) return {};
  const std::vector<int>& axes = graph.outputs[0].axes;
  for (size_t count = 1; count < axes.size(); ++count) {
    const std::vector<int> first(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(count));
    const AxisSet rows = formula::SetOf(first);
    if (std::ranges::any_of(graph.nodes, [&](const Node& n) { return IsComputed(n) && n.axes == rows; })) return first;
  }
  return {};
}

std::vector<double> ValuesOf(const Graph& graph, const std::vector<std::vector<double>>& inputs) {
  return formula::Evaluate(graph, graph.outputs[0], inputs, false, {}).value;
}

// The constant as the format holds it, or a divisor by its stored reciprocal where that is further off.
double StoredConstant(const FloatFormat& format, double constant, bool divides) {
  const double stored = RoundTo(format, constant);
  if (!divides || constant == 0) return stored;
  const double by_reciprocal = 1 / RoundTo(format, 1 / constant);
  return std::fabs(by_reciprocal - constant) > std::fabs(stored - constant) ? by_reciprocal : stored;
}

// False: they all are numbers of the format.
bool StoreConstants(const FloatFormat& format, Graph& graph) {
  bool rounds = false;
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    Node& node = graph.nodes[k];
    if (node.kind != Kind::kConst) continue;
    const bool divides = std::ranges::any_of(graph.nodes, [&](const Node& user) {
      return formula::Maps(user, formula::Function::kDiv) && user.args[1] == static_cast<int>(k);
    });
    const double stored = StoredConstant(format, node.constant, divides);
    rounds = rounds || stored != node.constant;
    node.constant = stored, node.constant_lo = 0;
  }
  return rounds;
}

}  // namespace

int64_t FormulaOperator::CountSharingSlices(const Problem& problem) const {
  const formula::Definition definition = DefinitionOf(problem);
  const std::vector<int> rows = AxesOfRows(definition.graph());
  return rows.empty() ? 0 : definition.graph().ExtentOf(formula::SetOf(rows));
}

SharedSteps FormulaOperator::StepsOfSlices(const Problem& problem, const Golden& golden,
                                           const FloatFormat& format) const {
  const formula::Definition definition = DefinitionOf(problem);
  const Graph& graph = definition.graph();
  const std::vector<int> rows = AxesOfRows(graph);
  const std::vector<std::vector<double>> inputs = KeptInputs(golden, graph.inputs.size());
  SharedSteps steps;
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    if (!IsComputed(graph.nodes[k]) || graph.nodes[k].axes != formula::SetOf(rows)) continue;
    Graph step = graph;
    step.outputs = {{"step", rows, static_cast<int>(k)}};
    steps.values.push_back(ValuesOf(formula::KeepOutput(step, 0), inputs));
  }
  Graph stored = graph;
  if (StoreConstants(format, stored)) steps.with_stored_constants = ValuesOf(stored, inputs);
  return steps;
}

}  // namespace assay
