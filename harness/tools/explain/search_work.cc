// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/search_work.h"

#include <algorithm>

#include "ops/formula_operator.h"

namespace assay {
namespace {

// Measured as medians over cases of some thousand elements.
constexpr double kOfFlop = 2e-9, kOfFormulaFlop = 1e-7, kOfNode = 1e-6, kOfLaneNode = 1e-7, kOfLaneValue = 4e-9;
constexpr double kOfOperandElement = 15e-9, kOfResult = 200e-9, kOfGraph = 10e-6;

double CountElements(const std::vector<Operand>& operands) {
  double count = 0;
  for (const Operand& operand : operands) count += static_cast<double>(NumElements(operand.shape));
  return count;
}

}  // namespace

double EstimateSecondsOfJudging(const Operator& op, const Problem& problem) {
  const bool is_formula = dynamic_cast<const FormulaOperator*>(&op) != nullptr;
  return kOfGraph + (is_formula ? kOfFormulaFlop : kOfFlop) * problem.flops +
         kOfOperandElement * CountElements(problem.inputs) + kOfResult * CountElements(problem.outputs);
}

double EstimateSecondsOfGraph(const formula::LaneEvaluator& evaluator) {
  return kOfNode * static_cast<double>(evaluator.nodes()) + kOfLaneValue * evaluator.CountValues();
}

double EstimateSecondsOfLane(const formula::LaneEvaluator& evaluator) {
  return kOfLaneNode * static_cast<double>(evaluator.nodes()) + kOfLaneValue * evaluator.CountValues();
}

}  // namespace assay
