// SPDX-License-Identifier: Apache-2.0
// Inputs by role, golden values and bounds of formula operators. A bound is the same evaluation under the contract's
// rules, so a golden value keeps its inputs, as planes "input.0", ...
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/data/fill/fill.h"
#include "harness/data/infinity.h"
#include "ops/binding.h"
#include "ops/formula/evaluate.h"
#include "ops/formula/rules.h"
#include "ops/formula_operator.h"
#include "ops/formula_places.h"

namespace assay {
namespace {

using formula::Definition;
using formula::ErrorRules;
using formula::Evaluation;
using formula::Graph;
using formula::Role;

// Covers the roundings of evaluating a bound.
constexpr double kBoundUp = 1 + 0x1p-20;

// Sums of more terms than this times 1/u can stop growing (golden/bound/bound.cc).
constexpr double kStagnation = 0.125;

std::vector<double> PlaneValues(const Plane& plane) {
  std::vector<double> values(static_cast<size_t>(plane.size()));
  for (int64_t i = 0; i < plane.size(); ++i) values[static_cast<size_t>(i)] = plane[i];
  return values;
}

std::vector<std::vector<double>> InputsOf(const Golden& golden, size_t count) {
  std::vector<std::vector<double>> inputs;
  for (size_t i = 0; i < count; ++i) inputs.push_back(PlaneValues(*golden.Extra(fmt::format("input.{}", i))));
  return inputs;
}

std::vector<DType> TypesOf(const Problem& problem) {
  std::vector<DType> types;
  for (const Operand& input : problem.inputs) types.push_back(input.dtype);
  return types;
}

// Deviates around zero reach two and a half times their deviation: that much over the scale is the largest number that
// the output has. Powers of two where data are not random: their quotients can be exact.
void MakeScales(DType out, bool random, Tensor& tensor) {
  const double largest = IsFloat(out) ? FormatOf(out).max_finite : std::ldexp(1.0, 8 * SizeOf(out) - 1) - 1;
  const double middle = 2.5 / largest;
  std::vector<double> values = tensor.ToDoubles();  // in [-1, 1]
  for (double& x : values) x = random ? middle * (1 + x / 4) : std::ldexp(1.0, std::ilogb(middle) + (x < 0 ? 0 : 1));
  tensor.SetDoubles(values);
}

void ApplyRole(Role role, const Problem& problem, uint64_t index, Tensor& tensor) {
  FillSpec fill = ParseFill(problem.spec.fill).value();
  const bool random = IsRandomLike(fill);
  if ((role == Role::kTable && random) || role == Role::kScale) {
    fill.kind = FillKind::kUniform;
    FillTensor(fill, problem.spec.seed, index, -1, 0, tensor);
    if (role == Role::kScale) MakeScales(problem.outputs[0].dtype, random, tensor);
    return;
  }
  if (role == Role::kData || role == Role::kOffset || role == Role::kTable || (role == Role::kWeight && !random))
    return;
  std::vector<double> values = tensor.ToDoubles();
  for (double& x : values) x = role == Role::kPositive ? std::fabs(x) : 1 + x / 4;
  tensor.SetDoubles(values);
}

// The largest number of terms that a sum of the graph has.
double MostTerms(const Graph& graph) {
  int64_t most = 1;
  for (const formula::Node& node : graph.nodes) {
    if (node.kind == formula::Kind::kSum) most = std::max(most, graph.ExtentOf(node.reduced));
    if (node.kind == formula::Kind::kRecur) most = std::max(most, graph.Extent(node.axis));
  }
  return static_cast<double>(most);
}

// Squares are 0 or 1 modulo 4: those of narrow numbers, a few bits above a sum's last one, round down together.
bool SquaresNarrowInputs(const Graph& graph, const Problem& problem) {
  return std::ranges::any_of(graph.nodes, [&](const formula::Node& node) {
    if (node.kind != formula::Kind::kMap || node.function != formula::Function::kMul) return false;
    const formula::Node& factor = graph.At(node.args[0]);
    if (node.args[0] != node.args[1] || factor.kind != formula::Kind::kIn) return false;
    const DType type = problem.inputs[static_cast<size_t>(factor.input)].dtype;
    return FormatOf(type).precision <= FormatOf(DType::kF16).precision;
  });
}

// Errors of reductions are shared by what uses them.
bool SharesErrors(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const formula::Node& node) {
    return formula::IsReduction(node.kind) || node.kind == formula::Kind::kRecur;
  });
}

// The reach of an element as a plane holds it. Of values that are far beyond f32 it is enough that it keeps them there.
double Held(double reach, double y, bool wide) {
  const double largest = FormatOf(DType::kF32).max_finite;
  const bool beyond = !wide && reach > largest / 4 && reach < kInfinity && std::fabs(y) - reach > 2 * largest;
  return beyond ? largest / 4 : reach * kBoundUp;
}

std::shared_ptr<const Plane> PlaneOf(const std::vector<double>& reach, const Evaluation& evaluation, bool wide) {
  auto plane = std::make_shared<Plane>(std::ssize(reach), wide);
  for (size_t i = 0; i < reach.size(); ++i) {
    plane->SetUp(static_cast<int64_t>(i), Held(reach[i], evaluation.value[i], wide));
  }
  return plane;
}

// Of places of a selection: where other numbers may change sides with it, their places are right too.
BoundModel PlacesBound(const Golden& golden, const Contract& contract, const Graph& graph,
                       const std::vector<std::vector<double>>& inputs, bool dd, const ErrorRules& rules,
                       const std::vector<double>& reach) {
  BoundModel bound = OutputBound(contract, DType::kI64);
  bool all_are_certain = true;
  for (int64_t i = 0; i < golden.size(); ++i) {
    if (reach[static_cast<size_t>(i)] == 0 && golden.error[i] == 0) continue;
    Admit(bound, golden.size(), i, kAlsoIndex);
    all_are_certain = false;
  }
  if (all_are_certain) return bound;
  bound.also_indices = static_cast<double>(PlacesLayout(graph, graph.outputs[0]).size());
  bound.also_index = PlacesThatMayStand(graph, inputs, dd, rules);
  return bound;
}

// Of numbers that become integers at the end. What NaN becomes is the machine's choice.
BoundModel RoundedIntegerBound(const Golden& golden, const Contract& contract) {
  BoundModel bound;
  bound.partial_overflow_at = bound.overflow_at = kInfinity;
  bound.lambda_out = contract.out == OutputRounding::kNearest ? 0.5 : 1;
  for (int64_t i = 0; i < golden.size(); ++i) {
    if (std::isnan(golden.value[static_cast<size_t>(i)])) Admit(bound, golden.size(), i, kAnything);
  }
  return bound;
}

}  // namespace

// The same whatever output is in focus.
std::vector<Tensor> FormulaOperator::MakeInputs(const Problem& problem) const {
  const Definition definition = WholeDefinitionOf(problem);
  const Graph& graph = definition.graph();
  const formula::BlockPlan plan(graph, graph.outputs[0]);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::vector<int>& axes = graph.inputs[i].axes;
    int along = -1;  // the last axis that the operator reduces or runs along
    for (size_t k = 0; k < axes.size(); ++k) {
      if (plan.InnerOf(formula::SetOf(axes[k])) != 0) along = static_cast<int>(k);
    }
    inputs.push_back(FillInput(problem, static_cast<int>(i), along, i == 0 ? 0 : 1));
    ApplyRole(definition.roles()[i], problem, i, inputs.back());
  }
  return inputs;
}

Golden FormulaOperator::ComputeGolden(const Problem& problem, std::span<const Tensor> inputs, Tier tier) const {
  const Definition definition = DefinitionOf(problem);
  const Graph& graph = definition.graph();
  std::vector<std::vector<double>> elements;
  for (const Tensor& input : inputs) elements.push_back(input.ToDoubles());
  const bool dd = tier == Tier::kReproducible;
  const ErrorRules rules[] = {formula::GoldenRules(dd), formula::SigmaRules()};
  Evaluation evaluation = formula::Evaluate(graph, graph.outputs[0], elements, dd, rules);

  const bool wide = SizeOf(problem.output().dtype) == 8;
  Golden golden;
  golden.shape = problem.output().shape;
  golden.tier = tier;
  golden.value = std::move(evaluation.value);
  golden.value_lo = std::move(evaluation.value_lo);
  golden.magnitude = golden.sigma = golden.error = Plane(golden.size(), wide);
  for (int64_t i = 0; i < golden.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    const double y = golden.value[at], sigma = evaluation.reach[1][at] / formula::kSigmaUnit;
    const double size = wide ? std::fabs(y) : std::min(std::fabs(y), FormatOf(DType::kF32).max_finite);
    golden.magnitude.SetUp(i, std::isfinite(y) ? size : 0);
    golden.sigma.Set(i, std::isfinite(sigma) && std::isfinite(y) ? sigma : 0);
    golden.error.SetUp(i, Held(evaluation.reach[0][at], y, wide));
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    Plane plane(std::ssize(elements[i]), SizeOf(problem.inputs[i].dtype) == 8);
    for (int64_t k = 0; k < plane.size(); ++k) plane.Set(k, elements[i][static_cast<size_t>(k)]);
    golden.extra.emplace_back(fmt::format("input.{}", i), std::move(plane));
  }
  return golden;
}

BoundModel FormulaOperator::Bound(const Problem& problem, const Golden& golden, const Contract& contract) const {
  const Definition definition = DefinitionOf(problem);
  const Graph& graph = definition.graph();
  const bool dd = golden.tier == Tier::kReproducible, wide = SizeOf(problem.output().dtype) == 8;
  ErrorRules rules[] = {formula::ContractRules(contract, TypesOf(problem), dd), formula::SystematicRules(contract, dd)};
  const DType out = problem.output().dtype;
  if (IsFloat(out) && FormatOf(out).max_finite > rules[0].range) rules[0].last_range = rules[0].range;
  const std::vector<std::vector<double>> inputs = InputsOf(golden, graph.inputs.size());
  const Evaluation evaluation = formula::Evaluate(graph, graph.outputs[0], inputs, dd, rules);
  const bool is_places = graph.At(graph.outputs[0].node).places;
  if (is_places) return PlacesBound(golden, contract, graph, inputs, dd, rules[0], evaluation.reach[0]);
  BoundModel bound = IsFloat(out) ? OutputBound(contract, out) : RoundedIntegerBound(golden, contract);
  bound.owned = {PlaneOf(evaluation.reach[0], evaluation, wide), PlaneOf(evaluation.reach[1], evaluation, wide)};
  bound.terms.push_back({bound.owned[0].get(), 1});
  StatisticModel& statistic = bound.statistic;
  statistic.applicable = contract.in == InputRounding::kExact && contract.mid == Intermediate::kNone &&
                         contract.acc != Accumulator::kTensorCore && contract.alg == Algorithm::kDirect &&
                         !SquaresNarrowInputs(graph, problem);
  statistic.shared = SharesErrors(graph);
  statistic.stagnates = MostTerms(graph) * contract.AccUnitRoundoff() > kStagnation;
  statistic.systematic.push_back({bound.owned[1].get(), 1});
  return bound;
}

}  // namespace assay
