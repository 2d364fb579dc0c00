// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/search_work.h"

#include <algorithm>

#include "ops/formula_operator.h"

namespace assay {
namespace {

// Measured as medians over cases of some thousand elements.
constexpr double kOfFlop = 2e-9, kOfFormulaFlop = 1e-7, kOfLaneFlop = 1e-8;
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

double EstimateSecondsOfLane(const Problem& problem, int64_t lanes) {
  return kOfGraph / 4 + kOfLaneFlop * problem.flops / static_cast<double>(std::max<int64_t>(1, lanes));
}

}  // namespace assay
