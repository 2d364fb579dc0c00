// SPDX-License-Identifier: Apache-2.0
// Inputs by role and golden values of formula operators. A golden value keeps its inputs, as planes "input.0", ..., for
// the evaluations under the rules of contracts (bound.cc).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "golden/big_buffer.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/fill/fill.h"
#include "harness/core/data/fill/rng.h"
#include "ops/binding.h"
#include "ops/formula/digest.h"
#include "ops/formula/evaluate.h"
#include "ops/formula/integers.h"
#include "ops/formula/rules.h"
#include "ops/formula/wide.h"
#include "ops/formula_operator/formula_operator.h"
#include "ops/formula_operator/indices.h"
#include "ops/formula_operator/powers.h"
#include "ops/formula_operator/reach.h"

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

// Where an operand lacks axes of the first one, it has numbers of their beginnings.
void CopyCompared(const Graph& graph, size_t input, const Tensor& first, Tensor& tensor) {
  const std::vector<double> from = first.ToDoubles();
  if (from.empty()) return;
  std::vector<double> values = tensor.ToDoubles();
  const std::vector<int>&axes = graph.inputs[input].axes, &of_first = graph.inputs[0].axes;
  for (size_t i = 0; i < values.size(); i += 2) {
    int64_t place = 0, stride = 1, rest = static_cast<int64_t>(i);
    for (size_t k = of_first.size(), own = axes.size(); k-- > 0; stride *= graph.Extent(of_first[k])) {
      if (own == 0 || axes[own - 1] != of_first[k]) continue;
      place += rest % graph.Extent(of_first[k]) * stride;
      rest /= graph.Extent(axes[--own]);
    }
    values[i] = from[static_cast<size_t>(place)];
  }
  tensor.SetDoubles(values);
}

void PlantNonFinite(Tensor& tensor) {
  std::vector<double> values = tensor.ToDoubles();
  for (size_t i = 1; i < values.size(); i += 2)
    values[i] = i % 6 == 1 ? std::nan("") : i % 6 == 3 ? HUGE_VAL : -HUGE_VAL;
  tensor.SetDoubles(values);
}

// The quotient by 0 is undefined, as is that of the smallest number by -1, and processors stop a kernel at both.
void ReplaceBadDivisors(Tensor& tensor) {
  const auto replace = [](auto x) { return x == 0 || x == -1 ? x + 3 : x; };
  if (tensor.dtype() == DType::kI64) {
    std::ranges::transform(tensor.As<int64_t>(), tensor.As<int64_t>().begin(), replace);
    return;
  }
  std::vector<double> values = tensor.ToDoubles();
  std::ranges::transform(values, values.begin(), replace);
  tensor.SetDoubles(values);
}

// Powers from 2^-2 to 2^2, beside which no block vanishes, and where a fill has NaN one of 64 blocks that is NaN.
void MakePowerCodes(bool has_nan, uint64_t seed, uint64_t index, Tensor& tensor) {
  const RandomStream random(seed, index);
  std::vector<double> codes(static_cast<size_t>(tensor.size()));
  for (size_t i = 0; i < codes.size(); ++i) {
    const bool is_nan = has_nan && random.Below(2 * i + 1, 64) == 0;
    codes[i] = is_nan ? 255 : 125 + static_cast<double>(random.Below(2 * i, 5));
  }
  tensor.SetDoubles(codes);
}

void ApplyRole(Role role, const Problem& problem, uint64_t index, Tensor& tensor) {
  FillSpec fill = ParseFill(problem.spec.fill).value();
  const bool random = IsRandomLike(fill);
  if ((role == Role::kTable && random) || role == Role::kScale || role == Role::kPosition) {
    fill.kind = FillKind::kUniform;
    FillTensor(fill, problem.spec.seed, index, -1, 0, tensor);
    if (role == Role::kScale) MakeScales(problem.outputs[0].dtype, random, tensor);
    if (role != Role::kPosition) return;
    std::vector<double> positions = tensor.ToDoubles();
    for (double& x : positions) x *= 1.25;
    return tensor.SetDoubles(positions);
  }
  if (role == Role::kPowerCode) return MakePowerCodes(HasNaN(fill), problem.spec.seed, index, tensor);
  if (role == Role::kZero) {
    const DType in = problem.inputs[0].dtype;
    Tensor codes(IsInt(in) ? in : problem.outputs[0].dtype, tensor.shape());
    FillTensor(fill, problem.spec.seed, index, -1, 1, codes);
    return tensor.SetDoubles(codes.ToDoubles());
  }
  if (role == Role::kPlaces || role == Role::kCompared) return;
  if (role == Role::kNonFinite) return PlantNonFinite(tensor);
  if (role == Role::kDivisor) return ReplaceBadDivisors(tensor);
  if (role == Role::kBase || role == Role::kExponent) {
    const bool is_shared = tensor.size() < NumElements(problem.inputs[0].shape);
    return MakePowers({role, HasNaN(fill), is_shared}, problem.spec.seed, tensor);
  }
  if (role == Role::kData || role == Role::kOffset || role == Role::kTable || (role == Role::kWeight && !random))
    return;
  std::vector<double> values = tensor.ToDoubles();
  for (double& x : values) {
    if (role == Role::kUnit) {
      x = std::fabs(x) > 1 && std::isfinite(x) ? 1 / x : x;
      continue;
    }
    x = role == Role::kPositive ? std::fabs(x) : role == Role::kCondition ? (x > 0 ? 1 : 0) : 1 + x / 4;
  }
  tensor.SetDoubles(values);
}

// How an operand's elements lie in lines.
struct OperandLines {
  int along = -1;        // the last axis that the operator reduces or runs along, by its place; -1: none
  bool several = false;  // and there is more than one line along it
};

OperandLines LinesOf(const formula::BlockPlan& plan, const Graph& graph, const std::vector<int>& axes) {
  const auto is_inner = [&](int axis) { return plan.InnerOf(formula::SetOf(axis)) != 0; };
  const auto last = std::find_if(axes.rbegin(), axes.rend(), is_inner);
  if (last == axes.rend()) return {};
  const int along = static_cast<int>(axes.rend() - last) - 1;
  return {along, graph.ExtentOf(formula::SetOf(axes)) > graph.Extent(axes[along])};
}

// Whether each element of some output depends on every element of an input: none of its axes is left there.
bool ReachesWholeOutputs(const Graph& graph, size_t input) {
  const formula::AxisSet axes = formula::SetOf(graph.inputs[input].axes);
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (axes == 0 || (axes & formula::OutputSet(graph.outputs[i])) != 0) continue;
    const Graph alone = formula::KeepOutput(graph, i);
    const auto reads = [&](const formula::Node& node) {
      return node.kind == formula::Kind::kIn && node.input == static_cast<int>(input);
    };
    if (std::ranges::any_of(alone.nodes, reads)) return true;
  }
  return false;
}

// Integers, as registers of the output's type hold them; NaN where they are undefined.
Golden EvaluateIntegers(const Operand& output, const Graph& graph, const std::vector<std::vector<double>>& elements,
                        Tier tier) {
  const Evaluation evaluation = formula::Evaluate(graph, graph.outputs[0], elements, true, {});
  Golden golden;
  golden.shape = output.shape;
  golden.tier = tier;
  golden.exact = true;
  golden.magnitude = Plane(std::ssize(evaluation.value), SizeOf(output.dtype) == 8);
  bool any = false;
  for (size_t i = 0; i < evaluation.value.size(); ++i) {
    const std::optional<int64_t> y = formula::WrapExact(output.dtype, {evaluation.value[i], evaluation.value_lo[i]});
    golden.value.push_back(y ? static_cast<double>(*y) : std::nan(""));
    golden.value_lo.push_back(y ? LowPart(*y, golden.value.back()) : 0);
    any = any || golden.value_lo.back() != 0;
  }
  if (!any) golden.value_lo.clear();
  return golden;
}

}  // namespace

std::vector<Tensor> FormulaOperator::MakeInputs(const Problem& problem) const {
  const FillSpec fill = ParseFill(problem.spec.fill).value();
  std::vector<Tensor> inputs = DrawInputs(problem, fill);
  if (HasNaN(fill)) return KeepMostJudged(problem, std::move(inputs));
  return inputs;
}

// A special value in an operand that reaches whole outputs hides everything else: half of the cases keep such operands
// free of them.
std::vector<Tensor> FormulaOperator::DrawInputs(const Problem& problem, FillSpec fill) const {
  const Definition definition = WholeDefinitionOf(problem);
  const Graph& graph = definition.graph();
  const formula::BlockPlan plan(graph, graph.outputs[0]);
  std::vector<OperandLines> lines;
  const Shape& shape = problem.outputs[0].shape;
  const int64_t turn = std::accumulate(shape.begin(), shape.end(), static_cast<int64_t>(problem.spec.seed % 2));
  const bool spares = HasNaN(fill) && turn % 2 == 0;
  std::vector<bool> is_spared;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const formula::InputInfo& input = graph.inputs[i];
    lines.push_back(LinesOf(plan, graph, input.axes));
    is_spared.push_back(spares && ReachesWholeOutputs(graph, i));
    // It has places, whatever the fill, or nothing special.
    if (input.places_along >= 0 || is_spared.back()) lines.back().several = false;
    if (lines.back().several) ++fill.parts;
  }
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    // Without such an axis each element draws its own special value, as a single one would fill a whole row.
    const int along = lines[i].along < 0 && HasNaN(fill) ? kEachElement : lines[i].along;
    inputs.emplace_back(problem.inputs[i].dtype, problem.inputs[i].shape);
    const FillSpec own = is_spared[i] ? FillSpec{} : fill;
    FillTensor(own, problem.spec.seed, i, along, i == 0 ? 0 : 1, inputs.back());
    if (lines[i].several) ++fill.part;
    ApplyRole(definition.roles()[i], problem, i, inputs.back());
    if (definition.largest().contains(i)) KeepWithin(definition.largest().at(i), inputs.back());
    if (definition.roles()[i] == Role::kCompared) CopyCompared(graph, i, inputs[0], inputs[i]);
    if (graph.inputs[i].places_along >= 0) {
      DrawPlaces(graph, i, problem.spec.seed, inputs.back());
    } else if (OutputOfDoubles(problem, i)) {
      KeepToDoubles(inputs.back());
    }
  }
  return inputs;
}

std::vector<std::vector<double>> ReadElements(std::span<const Tensor> inputs) {
  std::vector<std::vector<double>> elements, low;
  bool any = false;
  const bool may_be_wide = std::ranges::any_of(inputs, [](const Tensor& x) { return x.dtype() == DType::kI64; });
  for (const Tensor& input : inputs) {
    std::vector<double>& values = elements.emplace_back();
    ResizeValues(input.size() * (IsComplex(input.dtype()) ? 2 : 1), values);
    ParallelFor(std::ssize(values), 1 << 14, [&](int64_t begin, int64_t end) {
      input.Read(begin, std::span(values).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    });
    if (!may_be_wide) continue;
    low.emplace_back(elements.back().size());
    if (input.dtype() != DType::kI64) continue;
    const std::span<const int64_t> integers = input.As<int64_t>();
    for (size_t i = 0; i < integers.size(); ++i) {
      low.back()[i] = LowPart(integers[i], elements.back()[i]);
      any = any || low.back()[i] != 0;
    }
  }
  if (any) std::ranges::move(low, std::back_inserter(elements));
  return elements;
}

bool FormulaOperator::ComputesIntegers(const Problem& problem, size_t output, const Graph& graph) const {
  return formula::StaysInIntegers(graph, TypesOf(problem.inputs), problem.outputs[output].dtype);
}

Golden FormulaOperator::ComputeGolden(const Problem& problem, size_t output, std::span<const Tensor> inputs,
                                      Tier tier) const {
  const Definition definition = DefinitionOf(problem, output);
  const Graph& graph = definition.graph();
  const std::vector<std::vector<double>> elements = ReadElements(inputs);
  if (ComputesIntegers(problem, output, graph)) {
    const Operand& integers = problem.outputs[output];
    return EvaluateIntegers(integers, LimitToRegisters(graph, TypesOf(problem.inputs), integers.dtype), elements, tier);
  }
  const bool dd = tier == Tier::kReproducible;
  const ErrorRules rules[] = {formula::GoldenRules(dd), formula::SigmaRules()};
  Evaluation evaluation = formula::Evaluate(graph, graph.outputs[0], elements, dd, rules);
  formula::ReplaceUnbounded(graph, graph.outputs[0], elements, evaluation);

  const bool wide = SizeOf(problem.outputs[output].dtype) == 8;
  Golden golden;
  golden.shape = problem.outputs[output].shape;
  golden.tier = tier;
  golden.value = std::move(evaluation.value);
  golden.value_lo = std::move(evaluation.value_lo);
  for (Plane* plane : {&golden.magnitude, &golden.sigma, &golden.error}) *plane = Plane::Unset(golden.size(), wide);
  // Largest S that stays finite when the plane rounds it up.
  const double largest = (1 - 0x1p-20) * (wide ? std::numeric_limits<double>::max() : FormatOf(DType::kF32).max_finite);
  constexpr int64_t kAtOnce = 4096;
  ParallelFor(golden.size(), kAtOnce, [&](int64_t begin, int64_t end) {
    std::vector<double> sizes(static_cast<size_t>(end - begin)), sigmas(sizes.size());
    const double *values = golden.value.data() + begin, *errors = evaluation.reach[0].data() + begin;
    const double* deviations = evaluation.reach[1].data() + begin;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const double y = values[i], sigma = deviations[i] / formula::kSigmaUnit;
      const bool finite = std::isfinite(y);
      sizes[i] = finite ? std::min(std::fabs(y), largest) : 0;
      // A deviation that leaves double's range on the way is not known: far more than any, so that no error counts.
      const double unknown = std::min(0x1p60 * (std::fabs(y) + errors[i]), largest);
      sigmas[i] = !finite ? 0 : std::isfinite(sigma) ? sigma : unknown;
    }
    const std::span<double> reach(evaluation.reach[0].data() + begin, sizes.size());
    HoldReach(reach, golden.value.data() + begin, wide);
    golden.magnitude.SetRowUp(begin, sizes, 1);
    golden.sigma.SetRow(begin, sigmas);
    golden.error.SetRowUp(begin, reach, 1);
  });
  KeepInputs(inputs, golden);
  return golden;
}

std::string FormulaOperator::FormulaDigest(const Problem& problem, size_t output) const {
  const Definition definition = DefinitionOf(problem, output);
  const Graph& graph = definition.graph();
  const std::string digest = formula::DigestOf(graph);
  if (!ComputesIntegers(problem, output, graph)) return digest;
  const Graph limited = LimitToRegisters(graph, TypesOf(problem.inputs), problem.outputs[output].dtype);
  const bool any_limit = std::ranges::any_of(limited.limits, [](const auto& limit) { return limit.has_value(); });
  const bool any_wraps = std::ranges::find(limited.wraps, true) != limited.wraps.end();
  if (!any_limit && !any_wraps) return digest;
  // Earlier versions stored other values under the graph's digest: those of real products and quotients.
  const std::string of_registers = digest + " in registers";
  return HashHex(HashBytes(of_registers.data(), of_registers.size()));
}

}  // namespace assay
