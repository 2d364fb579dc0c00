// SPDX-License-Identifier: Apache-2.0
// Bounds of formula operators: the evaluation that golden values come from, under the contract's rules and of the
// schedule that it names.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "harness/core/base/multiversion.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"
#include "ops/binding.h"
#include "ops/formula/evaluate.h"
#include "ops/formula/rules.h"
#include "ops/formula_operator/formula_operator.h"
#include "ops/formula_operator/places.h"
#include "ops/formula_operator/reach.h"

namespace assay {
namespace {

using formula::Definition;
using formula::ErrorRules;
using formula::Evaluation;
using formula::Graph;

// Covers the roundings of evaluating a bound.
constexpr double kBoundUp = 1 + 0x1p-20;

// Sums of more terms than this times 1/u can stop growing (golden/bound/bound.cc).
constexpr double kStagnation = 0.125;

// Errors of reductions are shared by what uses them.
bool SharesErrors(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const formula::Node& node) {
    return formula::IsReduction(node.kind) || node.kind == formula::Kind::kRecur;
  });
}

// Bound for the places of a selection. Places of other numbers that rounding may exchange with it are right too.
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

// NaN is no integer: any result is right there.
void AdmitUndefined(const Golden& golden, BoundModel& bound) {
  for (int64_t i = 0; i < golden.size(); ++i) {
    if (std::isnan(golden.value[static_cast<size_t>(i)])) Admit(bound, golden.size(), i, kAnything);
  }
}

// Bound for numbers that become integers at the end.
BoundModel RoundedIntegerBound(const Golden& golden, const Contract& contract) {
  BoundModel bound;
  bound.partial_overflow_at = bound.overflow_at = kInfinity;
  bound.lambda_out = contract.RoundsToNearest() ? 0.5 : 1;
  AdmitUndefined(golden, bound);
  return bound;
}

// Results of one element that are accepted outside of its reach, and the value that kAlsoValue stands for.
// inf * f(x) with f(x) -> 0: NaN, infinities and the zero of a kernel that takes the limit are accepted. Anything is
// accepted behind sums and functions of it, and at poles and intermediates that may overflow.
struct AlsoRight {
  unsigned also = 0;  // bits of Also
  double value = 0;
};

AlsoRight AlsoRightOf(const Golden& golden, const Evaluation& evaluation, size_t i) {
  const double y = golden.value[i];
  if (!std::isfinite(y) && evaluation.reach[0][i] == kInfinity) {
    const bool is_limit = std::isnan(y) && evaluation.any_instead_of_nan[0] == 0;
    return {is_limit ? unsigned{kAlsoNan | kAlsoInfinity | kAlsoValue} : unsigned{kAnything}};
  }
  const formula::Beside beside = formula::BesideAt(evaluation, 0, i);
  AlsoRight right{.value = 1};
  if ((beside & formula::kBesideNan) != 0) right.also |= kAlsoNan;
  if ((beside & formula::kBesideInfinity) != 0) right.also |= kAlsoSignedInfinity;
  if ((beside & formula::kBesideOne) != 0) right.also |= kAlsoValue;
  return right;
}

// The number of two whose other one is NaN, for kernels by whose contract NaN may lose; NaN where it is not so. Empty:
// the output is no extreme of two operands, or these have other types.
std::vector<double> ValuesWhereNanLoses(const Problem& problem, const Graph& graph,
                                        const std::vector<std::vector<double>>& inputs, const Contract& contract) {
  if (contract.nan == NanPolicy::kPropagate || problem.spec.dtypes.size() > 1 || !IsExtremeOfTwo(graph)) return {};
  const formula::Node& last = graph.At(graph.outputs[0].node);
  std::vector<std::vector<double>> operands;
  for (const int arg : last.args) {
    formula::OutputInfo operand = graph.outputs[0];
    operand.node = arg;
    operands.push_back(formula::Evaluate(graph, operand, inputs, false, {}).value);
  }
  for (size_t i = 0; i < operands[0].size(); ++i) {
    double &x = operands[0][i], y = operands[1][i];
    x = std::isnan(x) ? y : std::isnan(y) ? x : std::nan("");
  }
  return std::move(operands[0]);
}

// `losing`: as ValuesWhereNanLoses.
void AdmitWhatIsAlsoRight(const Golden& golden, const Evaluation& evaluation, const std::vector<double>& losing,
                          BoundModel& bound) {
  auto values = std::make_shared<Plane>(golden.size(), !losing.empty());
  bool any_value = false;
  for (int64_t i = 0; i < golden.size(); ++i) {
    AlsoRight right = AlsoRightOf(golden, evaluation, static_cast<size_t>(i));
    const bool may_lose = !losing.empty() && !std::isnan(losing[static_cast<size_t>(i)]);
    if (may_lose) right = {kAlsoValue, losing[static_cast<size_t>(i)]};
    if (right.also == 0) continue;
    Admit(bound, golden.size(), i, right.also);
    if ((right.also & kAlsoValue) == 0) continue;
    values->Set(i, right.value);
    any_value = true;
  }
  if (!any_value) return;
  bound.also_value = values.get();
  bound.owned.push_back(std::move(values));
}

// How far the values of another schedule are from the golden ones. They are the same in exact arithmetic; `reach` is
// what the schedule's own evaluation may be off.
std::vector<double> DistancesFrom(const Golden& golden, const Evaluation& schedule, const std::vector<double>& reach) {
  std::vector<double> distances;
  for (size_t i = 0; i < reach.size(); ++i) {
    const double y = golden.value[i], z = schedule.value[i];
    const bool has_low = !schedule.value_lo.empty() && !golden.value_lo.empty();
    const double distance = std::fabs((z - y) + (has_low ? schedule.value_lo[i] - golden.value_lo[i] : 0));
    const bool alike = z == y || (std::isnan(z) && std::isnan(y));
    distances.push_back((alike && !std::isfinite(y) ? 0 : std::isnan(distance) ? kInfinity : distance) + reach[i]);
  }
  return distances;
}

// Adds the distance between the golden values and another schedule, and that schedule's own deviations. Rules 2 and 3
// of the evaluation give the golden values and the deviations.
void AddSchedule(const Evaluation& evaluation, const Golden& golden, const Contract& contract, bool wide,
                 BoundModel& bound) {
  bound.owned.push_back(PlaneOfReach(DistancesFrom(golden, evaluation, evaluation.reach[2]), evaluation, wide));
  bound.terms.push_back({bound.owned.back().get(), 1});
  auto sigma = std::make_shared<Plane>(golden.size(), wide);
  for (int64_t i = 0; i < golden.size(); ++i) {
    const double deviation = evaluation.reach[3][static_cast<size_t>(i)] / formula::kSigmaUnit;
    sigma->Set(i, std::isfinite(deviation) && std::isfinite(golden.value[static_cast<size_t>(i)]) ? deviation : 0);
  }
  bound.statistic.sigma_scale = 0;
  bound.statistic.deviations.push_back({sigma.get(), contract.AccUnitRoundoff()});
  bound.owned.push_back(std::move(sigma));
}

// Numbers of a wide type may all be narrow, such as bf16 that was converted to f32.
void MarkNarrowInputs(const std::vector<std::vector<double>>& inputs, std::vector<ErrorRules>& rules) {
  constexpr uint64_t kBeyond11Bits = (uint64_t{1} << 42) - 1;  // of a double's significand
  const auto is_narrow = [](double x) { return (std::bit_cast<uint64_t>(x) & kBeyond11Bits) == 0; };
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!std::ranges::all_of(inputs[k], is_narrow)) continue;
    for (ErrorRules& rule : rules) {
      if (k < rule.inputs.size()) rule.inputs[k].narrow = true;
    }
  }
}

// Whether squares of narrow numbers may reach a sum in another way than directly. Only direct sums are granted what
// their roundings lose to one side (error_reduce.cc).
bool HasSquaresWithoutGrant(const Graph& graph, const ErrorRules& rules) {
  const auto is_square = [&](int k) { return formula::IsNarrowSquare(graph, rules, k); };
  return MostTerms(graph) > 1 && std::ranges::any_of(graph.nodes, [&](const formula::Node& node) {
           return node.kind != formula::Kind::kSum && std::ranges::any_of(node.args, is_square);
         });
}

// No reach is beyond an infinite `largest`.
ASSAY_MULTIVERSION void Hold(double largest, const double* __restrict y, double* __restrict reach, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const bool beyond = reach[i] > largest / 4 && reach[i] < kInfinity && std::fabs(y[i]) - reach[i] > 2 * largest;
    reach[i] = beyond ? largest / 4 : reach[i] * kBoundUp;
  }
}

}  // namespace

std::vector<DType> TypesOf(std::span<const Operand> operands) {
  std::vector<DType> types;
  for (const Operand& operand : operands) types.push_back(operand.dtype);
  return types;
}

void HoldReach(std::span<double> reach, const double* y, bool wide) {
  Hold(wide ? kInfinity : FormatOf(DType::kF32).max_finite, y, reach.data(), std::ssize(reach));
}

std::shared_ptr<const Plane> PlaneOfReach(const std::vector<double>& reach, const Evaluation& evaluation, bool wide) {
  auto plane = std::make_shared<Plane>(Plane::Unset(std::ssize(reach), wide));
  ParallelFor(plane->size(), 4096, [&](int64_t begin, int64_t end) {
    std::vector<double> held(reach.begin() + begin, reach.begin() + end);
    HoldReach(held, evaluation.value.data() + begin, wide);
    plane->SetRowUp(begin, held);
  });
  return plane;
}

void KeepInputs(std::span<const Tensor> inputs, Golden& golden) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DType type = inputs[i].dtype();
    const int64_t size = inputs[i].size() * (IsComplex(type) ? 2 : 1);
    Plane plane = Plane::Unset(size, SizeOf(type) == 8 || type == DType::kI32);
    constexpr int64_t kStretch = 2048;  // stays in the first-level cache
    ParallelFor(size, kStretch, [&](int64_t begin, int64_t end) {
      std::array<double, kStretch> values;
      for (int64_t at = begin; at < end; at += kStretch) {
        const auto stretch = std::span(values).first(static_cast<size_t>(std::min(kStretch, end - at)));
        inputs[i].Read(at, stretch);
        plane.SetRow(at, stretch);
      }
    });
    golden.extra.emplace_back(fmt::format("input.{}", i), std::move(plane));
  }
}

std::vector<std::vector<double>> KeptInputs(const Golden& golden, size_t count) {
  std::vector<std::vector<double>> inputs(count);
  for (size_t i = 0; i < count; ++i) {
    const Plane* plane = golden.Extra(fmt::format("input.{}", i));
    if (plane == nullptr) continue;  // one without elements, of a golden value that was stored
    inputs[i].resize(static_cast<size_t>(plane->size()));
    for (int64_t k = 0; k < plane->size(); ++k) inputs[i][static_cast<size_t>(k)] = (*plane)[k];
  }
  return inputs;
}

bool IsExtremeOfTwo(const Graph& graph) {
  const formula::Node& last = graph.At(graph.outputs[0].node);
  const bool is_extreme = last.kind == formula::Kind::kMap && (last.function == formula::Function::kMaximum ||
                                                               last.function == formula::Function::kMinimum);
  return is_extreme &&
         std::ranges::all_of(last.args, [&](int arg) { return graph.At(arg).kind == formula::Kind::kIn; });
}

double MostTerms(const Graph& graph) {
  int64_t most = 1;
  for (const formula::Node& node : graph.nodes) {
    if (node.kind == formula::Kind::kSum) most = std::max(most, graph.ExtentOf(node.reduced));
    if (node.kind == formula::Kind::kScatterAdd) most = std::max(most, graph.ExtentOf(node.reduced) + 1);
    if (node.kind == formula::Kind::kRecur) most = std::max(most, graph.Extent(node.axis));
  }
  return static_cast<double>(most);
}

ErrorRules RulesFor(const Problem& problem, size_t output, const Contract& contract, bool double_double) {
  ErrorRules rules = formula::ContractRules(contract, TypesOf(problem.inputs), double_double);
  const DType out = problem.outputs[output].dtype;
  if (IsFloat(out) && FormatOf(out).max_finite > rules.range) rules.last_range = rules.range;
  return rules;
}

BoundModel FormulaOperator::Bound(const Problem& problem, size_t output, const Golden& golden,
                                  const Contract& contract) const {
  const bool is_direct = contract.alg == Algorithm::kDirect;
  const Definition definition = DefinitionOf(problem, output, contract.alg);
  const Graph& graph = definition.graph();
  if (ComputesIntegers(problem, output, graph)) {
    BoundModel bound = OutputBound(contract, problem.outputs[output].dtype);
    AdmitUndefined(golden, bound);
    return bound;
  }
  const bool dd = golden.tier == Tier::kReproducible, wide = SizeOf(problem.outputs[output].dtype) == 8;
  std::vector<ErrorRules> rules = {RulesFor(problem, output, contract, dd),
                                   formula::SystematicRules(contract, TypesOf(problem.inputs), dd)};
  if (!is_direct) rules.insert(rules.end(), {formula::GoldenRules(dd), formula::SigmaRules()});
  const DType out = problem.outputs[output].dtype;
  const std::vector<std::vector<double>> inputs = KeptInputs(golden, graph.inputs.size());
  MarkNarrowInputs(inputs, rules);
  const Evaluation evaluation = formula::Evaluate(graph, graph.outputs[0], inputs, dd, rules);
  const bool is_places = graph.At(graph.outputs[0].node).places;
  if (is_places) return PlacesBound(golden, contract, graph, inputs, dd, rules[0], evaluation.reach[0]);
  BoundModel bound = IsFloat(out) ? OutputBound(contract, out) : RoundedIntegerBound(golden, contract);
  bound.owned = {PlaneOfReach(evaluation.reach[0], evaluation, wide),
                 PlaneOfReach(evaluation.reach[1], evaluation, wide)};
  bound.terms.push_back({bound.owned[0].get(), 1});
  if (IsFloat(out)) {
    AdmitWhatIsAlsoRight(golden, evaluation, ValuesWhereNanLoses(problem, graph, inputs, contract), bound);
  }
  StatisticModel& statistic = bound.statistic;
  statistic.applicable = contract.in == InputRounding::kExact && contract.mid == Intermediate::kNone &&
                         contract.acc != Accumulator::kTensorCore && !HasSquaresWithoutGrant(graph, rules[0]);
  statistic.shared = SharesErrors(graph);
  statistic.stagnates = MostTerms(graph) * contract.AccUnitRoundoff() > kStagnation;
  statistic.systematic.push_back({bound.owned[1].get(), 1});
  if (!is_direct) AddSchedule(evaluation, golden, contract, wide, bound);
  return bound;
}

}  // namespace assay
