// SPDX-License-Identifier: Apache-2.0
// Special values that leave most results without a bound prove nothing. The largest numbers are what does so mostly: a
// sum with one of them may overflow, where one with NaN is certain. They stay in some slices, or in none; and where
// infinities may cancel in some order of work, these go too.
#include <algorithm>
#include <cmath>

#include "ops/formula/block.h"
#include "ops/formula_operator/cases.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

constexpr double kLeastJudged = 0.9;
constexpr int64_t kMostResults = 1 << 14;  // elements of an output; larger ones have lines enough
constexpr double kMostEvaluation = 4e6;    // numbers that an evaluation takes

bool HasNoBound(const Golden& golden, const BoundModel& bound, int64_t i) {
  const bool is_signed = (bound.AlsoAt(i) & kAlsoSignedFinite) != 0;
  if (bound.IsFree(i) || is_signed) return true;
  return !bound.exact && std::isfinite(golden.value[static_cast<size_t>(i)]) && std::isinf(bound.At(golden, i));
}

// By the accumulator that implementations have.
bool AreMostJudged(const FormulaOperator& op, const Problem& problem, std::span<const Tensor> inputs) {
  const bool is_double = std::ranges::any_of(problem.inputs, [](const Operand& x) { return x.dtype == DType::kF64; });
  const Contract contract = ParseDeclaration(is_double ? "f64;math=4" : "f32acc;math=4").value();
  for (size_t output = 0; output < problem.outputs.size(); ++output) {
    const Golden golden = op.ComputeGolden(problem, output, inputs, Tier::kFast);
    const BoundModel bound = op.Bound(problem, output, golden, contract);
    int64_t judged = 0;
    for (int64_t i = 0; i < golden.size(); ++i) judged += HasNoBound(golden, bound, i) ? 0 : 1;
    if (static_cast<double>(judged) < kLeastJudged * static_cast<double>(golden.size())) return false;
  }
  return true;
}

// The first axis of an operand along which results depend on the same slice alone; -1: none.
int FindSliceAxis(const formula::Graph& graph, const formula::BlockPlan& plan, size_t input) {
  const std::vector<int>& axes = graph.inputs[input].axes;
  const auto found = std::ranges::find_if(axes, [&](int axis) { return plan.InnerOf(formula::SetOf(axis)) == 0; });
  return found == axes.end() ? -1 : static_cast<int>(found - axes.begin());
}

// Special values that give way to ordinary ones.
struct Replaced {
  int64_t part = 1;  // of an operand's slices one in so many keeps its largest numbers; 0: none
  bool infinities = false;
};

// Slices lie along the axis, and the first ones are kept; -1: there are none.
void ReplaceSpecial(const Tensor& ordinary, int axis, const Replaced& replaced, Tensor& special) {
  if (!IsFloat(special.dtype())) return;
  const Shape& shape = special.shape();
  const int64_t extent = axis < 0 ? 0 : shape[static_cast<size_t>(axis)];
  const int64_t kept = replaced.part == 0 ? 0 : extent / replaced.part;
  const int64_t inner = kept == 0 ? 1 : NumElements(Shape(shape.begin() + axis + 1, shape.end()));
  const double large = std::sqrt(FormatOf(special.dtype()).max_finite);
  std::vector<double> values = special.ToDoubles();
  const std::vector<double> others = ordinary.ToDoubles();
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_kept = kept > 0 && static_cast<int64_t>(i) / inner % extent < kept;
    const bool is_large = std::fabs(values[i]) > large && (replaced.infinities || std::isfinite(values[i]));
    if (!is_kept && is_large) values[i] = others[i];
  }
  special.SetDoubles(values);
}

}  // namespace

std::vector<Tensor> FormulaOperator::KeepMostJudged(const Problem& problem, std::vector<Tensor> inputs) const {
  const formula::Definition definition = WholeDefinitionOf(problem);
  const formula::Graph& graph = definition.graph();
  const auto is_large = [](const Operand& output) { return NumElements(output.shape) > kMostResults; };
  if (std::ranges::any_of(problem.outputs, is_large) || WorkOf(graph) > kMostEvaluation) return inputs;
  if (AreMostJudged(*this, problem, inputs)) return inputs;
  const std::vector<Tensor> ordinary = DrawInputs(problem, FillSpec{});
  const formula::BlockPlan plan(graph, graph.outputs[0]);
  for (const Replaced& replaced : {Replaced{8, false}, Replaced{0, false}, Replaced{0, true}}) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (graph.inputs[i].places_along >= 0) continue;
      ReplaceSpecial(ordinary[i], FindSliceAxis(graph, plan, i), replaced, inputs[i]);
    }
    if (AreMostJudged(*this, problem, inputs)) break;
  }
  return inputs;
}

}  // namespace assay
