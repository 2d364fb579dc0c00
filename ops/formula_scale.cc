// SPDX-License-Identifier: Apache-2.0
#include "ops/formula_scale.h"

#include <algorithm>
#include <cmath>

#include "harness/data/infinity.h"
#include "ops/formula/degree.h"
#include "ops/formula/evaluate.h"
#include "ops/formula_reach.h"
#include "ops/relations.h"

namespace assay {
namespace {

using formula::ErrorRules;
using formula::Evaluation;
using formula::Graph;

constexpr double kFactors[] = {64, 2};

std::optional<std::vector<int>> ScaledInputsOf(const Graph& graph) {
  const auto count = static_cast<int>(graph.inputs.size());
  std::vector<std::vector<int>> sets;
  for (int i = 0; i < count; ++i) sets.push_back({i});
  for (int i = 1; i < count; ++i) sets.push_back({0, i});
  for (const std::vector<int>& set : sets) {
    std::vector<bool> scaled(graph.inputs.size());
    for (const int i : set) scaled[static_cast<size_t>(i)] = true;
    if (formula::DegreeOf(graph, graph.outputs[0].node, scaled) == 1) return set;
  }
  return std::nullopt;
}

// The tensor times the factor; nullopt: some number has no such multiple in its format.
std::optional<Tensor> Times(const Tensor& tensor, double factor) {
  if (!IsFloat(tensor.dtype())) return std::nullopt;
  const double most = FormatOf(tensor.dtype()).max_finite / factor;
  std::vector<double> values = tensor.ToDoubles();
  for (double& x : values) {
    if (std::isfinite(x) && std::fabs(x) > most) return std::nullopt;
    x *= factor;
  }
  Tensor scaled(tensor.dtype(), tensor.shape());
  scaled.SetDoubles(values);
  return scaled;
}

// Elements on the way to which nothing underflows or overflows: bounds without what underflow costs are the same.
std::vector<bool> StayNormal(const ExecutedCase& executed, const Graph& graph, std::span<const Tensor> inputs) {
  std::vector<std::vector<double>> elements;
  for (const Tensor& input : inputs) elements.push_back(input.ToDoubles());
  ErrorRules rules[2];
  rules[0] = rules[1] = RulesFor(executed.problem, executed.contract, false);
  rules[1].lambda = rules[1].function_lambda = rules[1].store_lambda = 0;
  const Evaluation got = formula::Evaluate(graph, graph.outputs[0], elements, false, rules);
  std::vector<bool> normal;
  for (size_t i = 0; i < got.value.size(); ++i) {
    const bool is_known = std::isfinite(got.value[i]) && got.reach[0][i] < kInfinity;
    normal.push_back(is_known && got.reach[0][i] == got.reach[1][i]);
  }
  return normal;
}

std::optional<OtherExecution> MakeScaled(const ExecutedCase& executed, const Graph& graph,
                                         const std::vector<int>& scaled, double factor) {
  OtherExecution other{.inputs = Clones(executed.inputs)};
  for (const int i : scaled) {
    std::optional<Tensor> tensor = Times(executed.inputs[static_cast<size_t>(i)], factor);
    if (!tensor) return std::nullopt;
    other.inputs[static_cast<size_t>(i)] = *std::move(tensor);
  }
  const std::vector<bool> before = StayNormal(executed, graph, executed.inputs);
  const std::vector<bool> after = StayNormal(executed, graph, other.inputs);
  const FloatFormat& out = FormatOf(executed.output.dtype());
  other.expected = executed.output.ToDoubles();
  other.tolerance.assign(other.expected.size(), 0);
  bool any = false;
  for (size_t i = 0; i < other.expected.size(); ++i) {
    double& y = other.expected[i];
    const bool fits = std::fabs(y) > out.MinNormal() && std::fabs(y) < out.max_finite / factor;
    const bool is_said = before[i] && after[i] && fits;
    if (!is_said) other.tolerance[i] = kInfinity;
    any = any || is_said;
    y *= factor;
  }
  return any ? std::optional(std::move(other)) : std::nullopt;
}

}  // namespace

std::optional<Relation> ScaleOf(const FormulaOperator& op, const Problem& problem) {
  if (!IsFloat(problem.output().dtype) || op.Saturates()) return std::nullopt;
  const std::optional<std::vector<int>> scaled = ScaledInputsOf(op.DefinitionOf(problem).graph());
  if (!scaled) return std::nullopt;
  Relation relation{.name = "scale", .claim = Claim::kScalable, .needs_golden = true, .make = nullptr};
  relation.make = [&op, scaled = *scaled](const ExecutedCase& executed) -> std::optional<OtherExecution> {
    const formula::Definition definition = op.DefinitionOf(executed.problem, executed.contract.alg);
    for (const double factor : kFactors) {
      if (auto other = MakeScaled(executed, definition.graph(), scaled, factor)) return other;
    }
    return std::nullopt;
  };
  return relation;
}

}  // namespace assay
