// SPDX-License-Identifier: Apache-2.0
#include "ops/formula_operator/relations.h"

#include <algorithm>
#include <cmath>

#include "harness/core/data/infinity.h"
#include "ops/formula/degree.h"
#include "ops/formula/evaluate.h"
#include "ops/formula_operator/reach.h"
#include "ops/relations.h"

namespace assay {
namespace {

using formula::ErrorRules;
using formula::Evaluation;
using formula::Function;
using formula::Graph;

constexpr double kFactors[] = {64, 2};

// The first set of inputs, one of them or the first and another, for which does(flag of each input); empty: none.
template <class Does>
std::vector<int> FirstSetThat(const Graph& graph, const Does& does) {
  const auto count = static_cast<int>(graph.inputs.size());
  std::vector<std::vector<int>> sets;
  for (int i = 0; i < count; ++i) sets.push_back({i});
  for (int i = 1; i < count; ++i) sets.push_back({0, i});
  for (std::vector<int>& set : sets) {
    std::vector<bool> flags(graph.inputs.size());
    for (const int input : set) flags[static_cast<size_t>(input)] = true;
    if (does(flags)) return std::move(set);
  }
  return {};
}

bool HasSymmetricFunction(const Graph& graph) {
  constexpr Function kSymmetric[] = {Function::kTanh, Function::kErf,  Function::kSin,   Function::kCos,
                                     Function::kTan,  Function::kAsin, Function::kAtan,  Function::kSinh,
                                     Function::kCosh, Function::kCbrt, Function::kAsinh, Function::kAtanh};
  return std::ranges::any_of(graph.nodes, [&](const formula::Node& node) {
    return node.kind == formula::Kind::kMap && std::ranges::find(kSymmetric, node.function) != std::end(kSymmetric);
  });
}

// Whether every number of a tensor has that multiple in its format.
bool HoldsTimes(const Tensor& tensor, double factor) {
  if (!IsFloat(tensor.dtype())) return false;
  const double most = FormatOf(tensor.dtype()).max_finite / factor;
  return std::ranges::all_of(tensor.ToDoubles(), [&](double x) { return !std::isfinite(x) || std::fabs(x) <= most; });
}

// Elements on the way to which nothing underflows or overflows: bounds without what underflow costs are the same. A
// bound far above a tiny value is too coarse to show that cost, as where a difference that is part of it cancels.
std::vector<bool> StayNormal(const ExecutedSet& executed, const Graph& graph, std::span<const Tensor> inputs) {
  std::vector<std::vector<double>> elements;
  for (const Tensor& input : inputs) elements.push_back(input.ToDoubles());
  ErrorRules rules[2];
  rules[0] = rules[1] = RulesFor(executed.problem, executed.number, executed.contract, false);
  rules[1].lambda = rules[1].function_lambda = rules[1].store_lambda = 0;
  const Evaluation got = formula::Evaluate(graph, graph.outputs[0], elements, false, rules);
  std::vector<bool> normal;
  for (size_t i = 0; i < got.value.size(); ++i) {
    const bool is_known = std::isfinite(got.value[i]) && got.reach[0][i] < kInfinity &&
                          formula::BesideAt(got, 0, i) == formula::kNothingBeside;
    const double size = std::fabs(got.value[i]);
    const bool is_hidden = size < 0x1p60 * rules[0].tiny && got.reach[0][i] > 256 * size;
    normal.push_back(is_known && !is_hidden && got.reach[0][i] == got.reach[1][i]);
  }
  return normal;
}

// `normal`: of the inputs as they are.
std::optional<OtherExecution> MakeScaled(const ExecutedSet& executed, const Graph& graph,
                                         const std::vector<int>& scaled, const std::vector<bool>& normal,
                                         double factor) {
  OtherExecution other{.inputs = Clones(executed.inputs)};
  for (const int i : scaled) {
    const Tensor& input = executed.inputs[static_cast<size_t>(i)];
    if (!HoldsTimes(input, factor)) return std::nullopt;
    other.inputs[static_cast<size_t>(i)] = Times(input, factor);
  }
  const std::vector<bool> after = StayNormal(executed, graph, other.inputs);
  const FloatFormat& out = FormatOf(executed.output.dtype());
  other.expected = executed.output.ToDoubles();
  other.tolerance.assign(other.expected.size(), 0);
  bool any = false;
  for (size_t i = 0; i < other.expected.size(); ++i) {
    double& y = other.expected[i];
    const bool fits = std::fabs(y) > out.MinNormal() && std::fabs(y) < out.max_finite / factor;
    const bool is_said = normal[i] && after[i] && fits;
    if (!is_said) other.tolerance[i] = kInfinity;
    any = any || is_said;
    y *= factor;
  }
  return any ? std::optional(std::move(other)) : std::nullopt;
}

}  // namespace

std::optional<Relation> NegationOf(const Graph& graph) {
  formula::Parity parity = formula::Parity::kNone;
  const std::vector<int> negated = FirstSetThat(graph, [&](const std::vector<bool>& flags) {
    parity = formula::ParityOf(graph, graph.outputs[0].node, flags);
    return parity != formula::Parity::kNone;
  });
  if (negated.empty()) return std::nullopt;
  Relation relation = Negated(negated, parity == formula::Parity::kOdd ? -1 : 1);
  if (HasSymmetricFunction(graph)) relation.claim = Claim::kNone;
  return relation;
}

std::optional<Relation> ScaleOf(const FormulaOperator& op, const Problem& problem, size_t output) {
  if (!IsFloat(problem.outputs[output].dtype) || op.Saturates()) return std::nullopt;
  const formula::Definition definition = op.DefinitionOf(problem, output);
  const Graph& graph = definition.graph();
  const auto is_integer = [&](size_t i) { return !IsFloat(problem.inputs[i].dtype); };  // multiples may not fit
  std::vector<int> scaled = FirstSetThat(graph, [&](const std::vector<bool>& flags) {
    for (size_t i = 0; i < flags.size(); ++i) {
      if (flags[i] && is_integer(i)) return false;
    }
    return formula::DegreeOf(graph, graph.outputs[0].node, flags) == 1;
  });
  if (scaled.empty()) return std::nullopt;
  Relation relation{.name = "scale", .claim = Claim::kScalable, .needs_golden = true, .make = nullptr};
  relation.make = [&op, scaled = std::move(scaled)](const ExecutedSet& executed) -> std::optional<OtherExecution> {
    const formula::Definition computed = op.DefinitionOf(executed.problem, executed.number, executed.contract.alg);
    const std::vector<bool> normal = StayNormal(executed, computed.graph(), executed.inputs);
    if (std::ranges::find(normal, true) == normal.end()) return std::nullopt;
    for (const double factor : kFactors) {
      if (auto other = MakeScaled(executed, computed.graph(), scaled, normal, factor)) return other;
    }
    return std::nullopt;
  };
  return relation;
}

}  // namespace assay
