// SPDX-License-Identifier: Apache-2.0
// Finds the numbers of a formula that all elements of a row share: those that lie along the first axes of the output
// alone; and how far rows may be off to the same side.
#include <algorithm>
#include <cmath>

#include "harness/core/data/fill/fill.h"
#include "ops/formula/evaluate.h"
#include "ops/formula/rules.h"
#include "ops/formula_operator/formula_operator.h"
#include "ops/formula_operator/reach.h"

namespace assay {

std::vector<int> ListAxes(const formula::Graph& graph, formula::AxisSet set) {
  std::vector<int> axes;
  for (int axis = 0; axis < std::ssize(graph.axes); ++axis) {
    if (formula::Has(set, axis)) axes.push_back(axis);
  }
  return axes;
}

std::vector<double> ValuesAt(const formula::Graph& graph, size_t k, const std::vector<int>& axes,
                             const std::vector<std::vector<double>>& inputs) {
  formula::Graph step = graph;
  step.outputs = {{"step", axes, static_cast<int>(k)}};
  const formula::Graph kept = formula::KeepOutput(step, 0);
  return formula::Evaluate(kept, kept.outputs[0], inputs, false, {}).value;
}

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

void StoreConstants(const FloatFormat& format, Graph& graph) {
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    Node& node = graph.nodes[k];
    if (node.kind != Kind::kConst) continue;
    const bool divides = std::ranges::any_of(graph.nodes, [&](const Node& user) {
      return formula::Maps(user, formula::Function::kDiv) && user.args[1] == static_cast<int>(k);
    });
    node.constant = StoredConstant(format, node.constant, divides), node.constant_lo = 0;
  }
}

// Whether numbers of rows are stored, and 1 / sqrt(x) by itself, as the root, or as both, one after the other.
enum class RowSteps : uint8_t { kWide, kReciprocals, kRoots, kRootsAndReciprocals };

// Makes node k an input that has its results as the format holds them.
void StoreResults(const FloatFormat& format, size_t k, RowSteps steps, Graph& graph,
                  std::vector<std::vector<double>>& inputs) {
  const bool is_reciprocal = formula::Maps(graph.nodes[k], formula::Function::kRsqrt);
  const bool by_root = is_reciprocal && (steps == RowSteps::kRoots || steps == RowSteps::kRootsAndReciprocals);
  const AxisSet set = graph.nodes[k].axes;
  const std::vector<int> axes = ListAxes(graph, set);
  std::vector<double> values = ValuesAt(graph, k, axes, inputs);
  for (double& x : values) {
    if (by_root) x = 1 / RoundTo(format, 1 / x);
    if (!by_root || steps == RowSteps::kRootsAndReciprocals) x = RoundTo(format, x);
  }
  graph.nodes[k] = {.kind = Kind::kIn, .axes = set, .input = static_cast<int>(inputs.size())};
  graph.inputs.push_back({"stored", axes});
  inputs.push_back(std::move(values));
}

bool IsStored(const Graph& graph, const Node& node, AxisSet rows, RowSteps steps) {
  if (node.axes == 0 || (node.axes == rows && steps == RowSteps::kWide)) return false;
  if (node.kind != Kind::kIn) return IsComputed(node);
  return (node.axes & rows) == 0 && graph.inputs[static_cast<size_t>(node.input)].places_along < 0;
}

// Results where constants, weights and numbers of single elements are stored.
std::vector<double> StoreSteps(Graph graph, std::vector<std::vector<double>> inputs, const FloatFormat& format,
                               AxisSet rows, RowSteps steps) {
  StoreConstants(format, graph);
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    const bool is_output = static_cast<int>(k) == graph.outputs[0].node;
    if (is_output || !IsStored(graph, graph.nodes[k], rows, steps)) continue;
    StoreResults(format, k, steps, graph, inputs);
  }
  return ValuesOf(formula::KeepOutput(graph, 0), inputs);
}

}  // namespace

ProblemTraits FormulaOperator::TraitsOf(const Problem& problem, size_t output) const {
  const formula::Definition definition = DefinitionOf(problem, output);
  const Graph& graph = definition.graph();
  const std::vector<int> rows = AxesOfRows(graph);
  const formula::Node& last = graph.At(graph.outputs[0].node);
  const bool selects = last.kind == formula::Kind::kTopK || last.kind == formula::Kind::kGather;
  const bool meets_nan = IsFloat(problem.outputs[output].dtype) && HasNaN(*ParseFill(problem.spec.fill));
  return {.required_fields = meets_nan && IsExtremeOfTwo(graph) ? "nan=propagate" : "",
          .sharing_slices = rows.empty() ? 0 : graph.ExtentOf(formula::SetOf(rows)),
          .sums = MostTerms(graph) > 1,
          .selects = selects && graph.At(last.args[0]).kind == formula::Kind::kIn};
}

SharedSteps FormulaOperator::StepsOfSlices(const Problem& problem, size_t output, const Golden& golden,
                                           const FloatFormat& format) const {
  const formula::Definition definition = DefinitionOf(problem, output);
  const Graph& graph = definition.graph();
  const std::vector<int> rows = AxesOfRows(graph);
  const std::vector<std::vector<double>> inputs = KeptInputs(golden, graph.inputs.size());
  SharedSteps steps;
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    if (!IsComputed(graph.nodes[k]) || graph.nodes[k].axes != formula::SetOf(rows)) continue;
    steps.values.push_back(ValuesAt(graph, k, rows, inputs));
  }
  for (const RowSteps stored :
       {RowSteps::kWide, RowSteps::kReciprocals, RowSteps::kRoots, RowSteps::kRootsAndReciprocals}) {
    steps.with_stored_steps.push_back(StoreSteps(graph, inputs, format, formula::SetOf(rows), stored));
  }
  return steps;
}

std::vector<double> FormulaOperator::LeanOfSlices(const Problem& problem, size_t output, const Golden& golden,
                                                  const Contract& contract, double sum_lean) const {
  const formula::Definition definition = DefinitionOf(problem, output, contract.alg);
  const Graph& graph = definition.graph();
  const AxisSet rows = formula::SetOf(AxesOfRows(graph));
  const auto is_shared = [rows](AxisSet axes) { return (rows & ~axes) != 0; };  // by several rows
  // The roundings of a sum that rows share are alike in all of them, however they fall.
  const auto is_shared_sum = [&](const Node& node) { return node.kind == Kind::kSum && is_shared(node.axes); };
  if (std::ranges::any_of(formula::KeepOutput(graph, 0).nodes, is_shared_sum)) return {};
  std::vector<bool> is_common;
  for (const formula::InputInfo& input : graph.inputs) is_common.push_back(is_shared(formula::SetOf(input.axes)));
  std::vector<DType> types;
  for (const Operand& input : problem.inputs) types.push_back(input.dtype);
  const bool dd = golden.tier == Tier::kReproducible;
  const std::vector<std::vector<double>> inputs = KeptInputs(golden, graph.inputs.size());
  const formula::ErrorRules rules[] = {
      formula::LeanRules(formula::SystematicRules(contract, types, dd), contract, is_common, sum_lean)};
  return formula::Evaluate(graph, graph.outputs[0], inputs, dd, rules).reach[0];
}

}  // namespace assay
