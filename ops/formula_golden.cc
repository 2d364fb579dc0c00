// SPDX-License-Identifier: Apache-2.0
// Inputs by role and golden values of formula operators. A golden value keeps its inputs, as planes "input.0", ..., for
// the evaluations under the rules of contracts (formula_bound.cc).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/data/fill/fill.h"
#include "ops/binding.h"
#include "ops/formula/digest.h"
#include "ops/formula/evaluate.h"
#include "ops/formula/rules.h"
#include "ops/formula_indices.h"
#include "ops/formula_operator.h"
#include "ops/formula_reach.h"

namespace assay {
namespace {

using formula::Definition;
using formula::ErrorRules;
using formula::Evaluation;
using formula::Graph;
using formula::Role;

// Deviates around zero reach two and a half times their deviation: that much over the scale is the largest number that
// the output has. Powers of two where data are not random: their quotients can be exact.
void MakeScales(DType out, bool random, Tensor& tensor) {
  const double largest = IsFloat(out) ? FormatOf(out).max_finite : out == DType::kU8 ? 255 : 127;
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
  if (role == Role::kZero) {
    const DType in = problem.inputs[0].dtype;
    Tensor codes(IsInt(in) ? in : problem.outputs[0].dtype, tensor.shape());
    FillTensor(fill, problem.spec.seed, index, -1, 1, codes);
    return tensor.SetDoubles(codes.ToDoubles());
  }
  if (role == Role::kPlaces) return;
  if (role == Role::kData || role == Role::kOffset || role == Role::kTable || (role == Role::kWeight && !random))
    return;
  std::vector<double> values = tensor.ToDoubles();
  for (double& x : values) x = role == Role::kPositive ? std::fabs(x) : 1 + x / 4;
  tensor.SetDoubles(values);
}

// The last axis of an operand that the operator reduces or runs along, by its place; -1: none.
int LastInnerAxis(const formula::BlockPlan& plan, const std::vector<int>& axes) {
  for (size_t k = axes.size(); k-- > 0;) {
    if (plan.InnerOf(formula::SetOf(axes[k])) != 0) return static_cast<int>(k);
  }
  return -1;
}

}  // namespace

// The same whatever output is in focus.
std::vector<Tensor> FormulaOperator::MakeInputs(const Problem& problem) const {
  const Definition definition = WholeDefinitionOf(problem);
  const Graph& graph = definition.graph();
  const formula::BlockPlan plan(graph, graph.outputs[0]);
  FillSpec fill = ParseFill(problem.spec.fill).value();
  std::vector<int> along;
  std::vector<int> parts;  // by input; -1: it has one line, or no lines
  for (const formula::InputInfo& input : graph.inputs) {
    along.push_back(LastInnerAxis(plan, input.axes));
    const bool has_lines =
        along.back() >= 0 && graph.ExtentOf(formula::SetOf(input.axes)) > graph.Extent(input.axes[along.back()]);
    parts.push_back(has_lines && input.places_along < 0 ? fill.parts++ : -1);
  }
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    // Of what has no such axis each element is alone with its special value, or one would be all that a row has.
    const int axis = along[i] < 0 && HasNaN(fill) ? kEachElement : along[i];
    fill.part = std::max(parts[i], 0);
    inputs.emplace_back(problem.inputs[i].dtype, problem.inputs[i].shape);
    FillTensor(fill, problem.spec.seed, i, axis, i == 0 ? 0 : 1, inputs.back());
    ApplyRole(definition.roles()[i], problem, i, inputs.back());
    if (const int places = graph.inputs[i].places_along; places >= 0) {
      DrawPlaces(graph.Extent(places), problem.spec.seed, i, inputs.back());
    }
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
  const double largest = wide ? std::numeric_limits<double>::max() : FormatOf(DType::kF32).max_finite;
  std::vector<double> sizes(golden.value.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const double y = golden.value[i], sigma = evaluation.reach[1][i] / formula::kSigmaUnit;
    const bool finite = std::isfinite(y);
    sizes[i] = finite ? std::min(std::fabs(y), largest) : 0;
    golden.sigma.Set(static_cast<int64_t>(i), std::isfinite(sigma) && finite ? sigma : 0);
    evaluation.reach[0][i] = HeldReach(evaluation.reach[0][i], y, wide);
  }
  golden.magnitude.SetRowUp(0, sizes, 1);
  golden.error.SetRowUp(0, evaluation.reach[0], 1);
  KeepInputs(inputs, golden);
  return golden;
}

std::string FormulaOperator::FormulaDigest(const Problem& problem) const {
  return formula::DigestOf(DefinitionOf(problem).graph());
}

}  // namespace assay
