// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/stored_changes.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/formula/faults.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

// Factors of transforms that are normalised otherwise, by the number of their points or by its root, or by the sum of
// their window or the root of the sum of its squares, and of logarithms in base 2.
std::vector<double> ListFactors(const WrongResult& result) {
  constexpr double kLogOfE = 1.4426950408889634;  // in base 2
  const Problem& problem = result.problem;
  if (problem.outputs[result.output].name == "lse") return {kLogOfE};
  if (problem.spec.op == "mx_mm") return {4, 0.25};  // the bias of both scales' exponents
  if (problem.spec.op != "fft" && problem.spec.op != "stft") return {};
  double points = 1, sum = 0, squares = 0;
  if (problem.spec.op == "fft") {
    for (const int64_t extent : problem.List("n")) points *= static_cast<double>(extent);
    return {1 / points, points, 1 / std::sqrt(points), std::sqrt(points)};
  }
  for (const double x : result.inputs[1].ToDoubles()) sum += x, squares += x * x, ++points;
  --points;
  std::vector<double> factors;
  for (const double divisor : {points, std::sqrt(points), sum, std::sqrt(squares)}) factors.push_back(1 / divisor);
  return factors;
}

// Whether the formula passes the ends of the type where the result has these ends: an end elsewhere is memory that
// nobody has written, or an index that nobody has found. Other operators have no formula that says so.
bool PassEnds(const WrongResult& result) {
  const auto* const op = dynamic_cast<const FormulaOperator*>(&result.op);
  if (op == nullptr || result.elements.empty()) return false;
  const Tensor& got = result.got[result.output];
  const IntegerLimits ends = LimitsOf(got.dtype());
  const double low = static_cast<double>(ends.low), high = static_cast<double>(ends.high);
  const formula::Definition definition = op->DefinitionOf(result.problem, result.output);
  formula::LaneEvaluator evaluator(definition.graph(), definition.graph().outputs[0], ReadElements(result.inputs));
  return std::ranges::all_of(result.elements, [&](int64_t element) {
    double value = 0;
    got.Read(element, {&value, 1});
    const int64_t lane = evaluator.LaneOf(element);
    const std::vector<int64_t> in_lane = evaluator.Elements(lane);
    const auto at = static_cast<size_t>(std::ranges::find(in_lane, element) - in_lane.begin());
    const double exact = evaluator.Run(lane, {})[at];
    return (value == low && exact < low) || (value == high && exact > high);
  });
}

}  // namespace

std::vector<OutputChange> ListStored(const WrongResult& result) {
  const Tensor& got = result.got[result.output];
  std::set<int64_t> parts = {2};
  for (const Operand& operand : result.problem.inputs) parts.insert(operand.shape.begin(), operand.shape.end());
  std::vector<OutputChange> changes = ListOutputChanges(got, ListFactors(result), parts);
  std::erase_if(changes, [&](const OutputChange& change) {
    return change.kind == OutputChange::Kind::kAtEnds && !PassEnds(result);
  });
  const std::vector<double> values = got.ToDoubles();
  const auto is_lost = [&](size_t i) { return std::isnan(result.golden.value[i]) && !std::isnan(values[i]); };
  size_t nan = 0;
  while (nan < values.size() && !is_lost(nan)) ++nan;
  if (nan < values.size()) changes.push_back({.kind = OutputChange::Kind::kNumberForNan, .factor = values[nan]});
  for (size_t input = 0; input < result.inputs.size(); ++input) {
    const Tensor& operand = result.inputs[input];
    if (operand.shape() == got.shape() && operand.dtype() == got.dtype() && IsFloat(got.dtype()))
      changes.push_back({.kind = OutputChange::Kind::kOperand, .input = input});
    if (nan < values.size() && operand.shape() == got.shape() && IsComplex(operand.dtype()) == IsComplex(got.dtype()))
      changes.push_back({.kind = OutputChange::Kind::kOperandForNan, .input = input});
  }
  return changes;
}

}  // namespace assay
