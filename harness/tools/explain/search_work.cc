// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/search_work.h"

#include <cmath>

#include "ops/formula/block.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

// Measured as medians over cases of some thousand elements.
constexpr double kOfFlop = 2e-9, kOfFormulaValue = 3e-8, kOfNode = 1e-6, kOfLaneNode = 1e-7, kOfLaneValue = 4e-9,
                 kOfListedNode = 4e-7;
constexpr double kOfOperandElement = 15e-9, kOfResult = 200e-9, kOfGraph = 10e-6;

double CountElements(const std::vector<Operand>& operands) {
  double count = 0;
  for (const Operand& operand : operands) count += static_cast<double>(NumElements(operand.shape));
  return count;
}

// Numbers that several lanes need are computed for each block of lanes, so that operations of the formula are too few.
double EstimateSecondsOfValues(const FormulaOperator& op, const Problem& problem, size_t output) {
  const formula::Definition definition = op.DefinitionOf(problem, output);
  const formula::Graph& graph = definition.graph();
  const formula::BlockPlan plan(graph, graph.outputs[0]);
  double values = 0;
  for (const formula::Node& node : graph.nodes)
    values += static_cast<double>(plan.Size(node.axes | node.reduced, plan.block()));
  const double blocks = std::ceil(static_cast<double>(plan.lanes()) / static_cast<double>(plan.block()));
  return kOfNode * static_cast<double>(graph.nodes.size()) + kOfFormulaValue * values * blocks;
}

}  // namespace

double EstimateSecondsOfJudging(const Operator& op, const Problem& problem, size_t output) {
  const auto* const formula = dynamic_cast<const FormulaOperator*>(&op);
  return kOfGraph +
         (formula != nullptr ? EstimateSecondsOfValues(*formula, problem, output) : kOfFlop * problem.flops) +
         kOfOperandElement * CountElements(problem.inputs) + kOfResult * CountElements(problem.outputs);
}

double EstimateSecondsOfGraph(const formula::LaneEvaluator& evaluator) {
  return kOfNode * static_cast<double>(evaluator.nodes()) + kOfLaneValue * evaluator.CountValues();
}

double EstimateSecondsOfLane(const formula::LaneEvaluator& evaluator) {
  return kOfLaneNode * static_cast<double>(evaluator.nodes()) + kOfLaneValue * evaluator.CountValues();
}

double EstimateSecondsOfListing(const formula::Graph& graph, size_t changes) {
  return kOfListedNode * static_cast<double>(graph.nodes.size()) * static_cast<double>(changes);
}

}  // namespace assay
