// SPDX-License-Identifier: Apache-2.0
// Omitted terms and twins of formula operators. A twin shows a window of equal terms along the axis that is reduced and
// zeros elsewhere: as many as still let each missing one be seen. Its tolerance is the bound on these data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/core/data/fill/rng.h"
#include "ops/binding.h"
#include "ops/formula/faults.h"
#include "ops/formula/integers.h"
#include "ops/formula_operator/formula_operator.h"
#include "ops/formula_operator/indices.h"
#include "ops/relation.h"
#include "ops/relations.h"

namespace assay {
namespace {

using formula::Graph;
using formula::Role;

constexpr double kMostWork = 2e8;             // numbers that mutants of a case may take
constexpr uint64_t kWindowSeed = 0x77696e64;  // any constant: a twin does not depend on the case's seed
constexpr uint64_t kSignSeed = 0x7369676e;    // likewise
constexpr double kDetectable = 4;             // a missing term has to be this many times the tolerance

// The element of a lane in which a fault shows best: by the change relative to the result, of those that are no small
// differences of large numbers.
int64_t MostTelling(std::span<const double> right, std::span<const double> wrong) {
  double largest = 0, best = 0;
  for (const double y : right) largest = std::isfinite(y) ? std::max(largest, std::fabs(y)) : largest;
  int64_t telling = -1;
  for (size_t i = 0; i < right.size(); ++i) {
    const double size = std::max(std::fabs(right[i]), 0.1 * largest), change = std::fabs(wrong[i] - right[i]) / size;
    if (!(change > best)) continue;
    best = change;
    telling = static_cast<int64_t>(i);
  }
  return telling;
}

// Differences that the output's rounding hides cannot be detected by any comparison.
bool AreAlike(DType out, double a, double b) {
  return IsFloat(out) ? RoundTo(FormatOf(out), a) == RoundTo(FormatOf(out), b) : std::nearbyint(a) == std::nearbyint(b);
}

// Places in an order of their own for each line: first those whose omission is tried, then others at random.
std::vector<int64_t> WindowOrder(int64_t line, int64_t terms) {
  std::vector<int64_t> order = SampledTerms(terms, line);
  const std::set<int64_t> sampled(order.begin(), order.end());
  const auto first = std::ssize(order);
  for (int64_t k = 0; k < terms; ++k) {
    if (!sampled.contains(k)) order.push_back(k);
  }
  const RandomStream random(kWindowSeed, static_cast<uint64_t>(line));
  for (int64_t i = terms - 1; i > first; --i) {
    std::swap(order[i], order[first + static_cast<int64_t>(random.Below(static_cast<uint64_t>(i),
                                                                        static_cast<uint64_t>(i + 1 - first)))]);
  }
  return order;
}

// Where each index along some of the axes begins, row-major over them.
std::vector<int64_t> OffsetsAlong(const Shape& shape, const std::vector<bool>& wanted) {
  std::vector<int64_t> offsets = {0};
  int64_t stride = NumElements(shape);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    stride /= shape[axis];
    if (!wanted[axis]) continue;
    std::vector<int64_t> longer;
    for (const int64_t offset : offsets) {
      for (int64_t i = 0; i < shape[axis]; ++i) longer.push_back(offset + i * stride);
    }
    offsets = std::move(longer);
  }
  return offsets;
}

// Equal terms along some axes: so many of this size, zeros elsewhere.
struct Window {
  int64_t visible = 0;
  double size = 1;
};

void ShowWindow(const Shape& shape, std::vector<bool> along, const Window& window, std::vector<double>& values) {
  const std::vector<int64_t> terms = OffsetsAlong(shape, along);
  along.flip();
  const std::vector<int64_t> lines = OffsetsAlong(shape, along);
  std::ranges::fill(values, 0.0);
  for (size_t line = 0; line < lines.size(); ++line) {
    const std::vector<int64_t> order = WindowOrder(static_cast<int64_t>(line), std::ssize(terms));
    for (size_t k = 0; k < static_cast<size_t>(window.visible); ++k) {
      values[static_cast<size_t>(lines[line] + terms[static_cast<size_t>(order[k])])] = window.size;
    }
  }
}

// Numbers of one size and random sign; codes without a sign have random bits.
void ShowSigns(DType type, uint64_t operand, double size, std::vector<double>& values) {
  const RandomStream random(kSignSeed, operand);
  const bool is_code = type == DType::kU8;
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t bits = random.Bits(i);
    values[i] = is_code ? static_cast<double>(bits >> 56) : (bits >> 63) != 0 ? -size : size;
  }
}

struct TwinForm {
  formula::AxisSet axes = 0;  // that the window lies along
  int64_t terms = 0;
  size_t carrier = SIZE_MAX;  // the operand that shows the window; SIZE_MAX: none does
  bool signs = false;         // no window: all operands of data have random signs
  bool operator==(const TwinForm&) const = default;
};

// Omitted terms of one lane that a twin has to show.
int64_t CountTried(const Graph& graph) {
  int64_t tried = 0;
  for (const formula::FaultyNode& faulty : formula::FaultyNodes(graph)) {
    if (!formula::ShowsOnAnyData(graph.At(faulty.node))) tried += std::ssize(SampledTerms(faulty.terms, 0));
  }
  return tried;
}

// Axes of sums and recurrences, the longest first; none: nothing can be forgotten.
std::vector<formula::AxisSet> ForgettableAxes(const Graph& graph) {
  std::vector<formula::AxisSet> found;
  for (const formula::FaultyNode& faulty : formula::FaultyNodes(graph)) {
    const formula::Node& node = graph.At(faulty.node);
    if (formula::ShowsOnAnyData(node)) continue;  // case data show as much
    found.push_back(node.kind == formula::Kind::kRecur ? formula::SetOf(node.axis) : node.reduced);
  }
  std::ranges::stable_sort(found, std::greater(), [&](formula::AxisSet axes) { return graph.ExtentOf(axes); });
  return found;
}

// The axes, and those that their elements come from.
formula::AxisSet WithOrigins(const Graph& graph, formula::AxisSet axes) {
  for (size_t i = graph.nodes.size(); i-- > 0;) {  // operands stand first
    const formula::Node& node = graph.nodes[i];
    if (node.from_axis < 0) continue;
    const bool gathers = node.kind == formula::Kind::kGather;
    const formula::AxisSet come = gathers ? node.reduced : formula::SetOf(node.axis) | formula::SetOf(node.more_axes);
    if ((come & axes) != 0) axes |= formula::SetOf(node.from_axis) | formula::SetOf(node.more_from);
  }
  return axes;
}

// Windows that may show what can be forgotten. The first lies along the longest sum, in the first operand of data that
// has all of its axes; others lie in each operand of data, along what a sum's terms come from.
std::vector<TwinForm> FormsOf(const formula::Definition& definition) {
  const Graph& graph = definition.graph();
  const std::vector<formula::AxisSet> forgettable = ForgettableAxes(graph);
  if (forgettable.empty()) return {};
  std::vector<TwinForm> forms = {{forgettable[0], graph.ExtentOf(forgettable[0])}};
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const formula::AxisSet own = formula::SetOf(graph.inputs[i].axes);
    if (definition.roles()[i] != Role::kData) continue;
    if (forms[0].carrier == SIZE_MAX && (forgettable[0] & ~own) == 0) forms[0].carrier = i;
    for (const formula::AxisSet along : forgettable) {
      const formula::AxisSet axes = WithOrigins(graph, along) & own;
      const TwinForm form{axes, graph.ExtentOf(axes), i};
      if (axes != 0 && std::ranges::find(forms, form) == forms.end()) forms.push_back(form);
    }
  }
  return forms;
}

// Adds up the places of an element along all axes: neighbours along any axis have another parity.
int64_t SumOfPlaces(const Shape& shape, size_t element) {
  int64_t sum = 0, rest = static_cast<int64_t>(element);
  for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) sum += rest % shape[axis];
  return sum;
}

// One operand shows the window; others are ones, so that no factor hides a term that is visible, and what is subtracted
// is zero. Codes of powers of two and positions differ, so that one in the place of another shows. A term that shows
// only where several operands vary, as one of a score before a softmax, needs signs.
std::vector<Tensor> WindowInputs(const formula::Definition& definition, const Problem& problem, const TwinForm& form,
                                 const Window& window) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const std::vector<int>& axes = definition.graph().inputs[i].axes;
    Tensor tensor(problem.inputs[i].dtype, problem.inputs[i].shape);
    const Role role = definition.roles()[i];
    std::vector<double> values(static_cast<size_t>(tensor.size()),
                               role == Role::kOffset || role == Role::kZero ? 0 : 1);
    for (size_t k = 0; k < values.size(); ++k) {
      if (role == Role::kPowerCode) values[k] = 127 + static_cast<double>(SumOfPlaces(tensor.shape(), k) % 2);
      if (role == Role::kPosition) values[k] = static_cast<double>(k * 7 % 16) / 8 - 0.9375;
    }
    if (form.signs && role == Role::kData) {
      ShowSigns(tensor.dtype(), i, window.size, values);
    } else if (i == form.carrier) {
      std::vector<bool> along;
      for (const int axis : axes) along.push_back(formula::Has(form.axes, axis));
      ShowWindow(problem.inputs[i].shape, along, window, values);
    }
    tensor.SetDoubles(values);
    if (definition.largest().contains(i)) KeepWithin(definition.largest().at(i), tensor);
    if (definition.graph().inputs[i].places_along >= 0) DrawPlaces(definition.graph(), i, kWindowSeed, tensor);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

// Whether a correct kernel may have any result there, as of a division by what nearly cancels.
bool LeavesOpen(const BoundModel& bound, const Golden& golden, int64_t i) {
  return bound.IsFree(i) || std::isinf(bound.At(golden, i));
}

// In ulp of the output, for each element.
std::vector<double> TolerancesOf(const Golden& golden, const BoundModel& bound, DType out) {
  std::vector<double> tolerances;
  for (int64_t i = 0; i < golden.size(); ++i) {
    const double y = golden.value[static_cast<size_t>(i)];
    const double finite = std::isfinite(y) ? bound.LargestToleranceAt(golden, i) / UlpAt(FormatOf(out), y) : 0;
    tolerances.push_back(LeavesOpen(bound, golden, i) ? HUGE_VAL : finite);
  }
  return tolerances;
}

// Counts the missing terms that the bound detects on these data.
int64_t CountSeen(const std::vector<Mutant>& mutants, const Golden& golden, const BoundModel& bound) {
  return std::ranges::count_if(mutants, [&](const Mutant& mutant) {
    const double effect = std::fabs(mutant.value - golden.value[static_cast<size_t>(mutant.index)]);
    return !LeavesOpen(bound, golden, mutant.index) &&
           !(effect <= kDetectable * bound.LargestToleranceAt(golden, mutant.index));
  });
}

// Numbers that the mutants of a lane take.
double WorkOfMutants(const Graph& graph) {
  const formula::BlockPlan plan(graph, graph.outputs[0]);
  double work = 0;
  for (const formula::Node& node : graph.nodes) work += static_cast<double>(plan.Size(node.axes, 1));
  return 16 * static_cast<double>(formula::FaultyNodes(graph).size()) * work;
}

}  // namespace

std::vector<Mutant> FormulaMutants(const Graph& graph, std::span<const Tensor> inputs, std::span<const double> values,
                                   std::span<const int64_t> elements, DType out) {
  const std::vector<formula::FaultyNode> nodes = formula::FaultyNodes(graph);
  std::vector<Mutant> mutants;
  if (nodes.empty()) return mutants;
  std::vector<std::vector<double>> operands;
  for (const Tensor& input : inputs) operands.push_back(input.ToDoubles());
  formula::LaneEvaluator evaluator(graph, graph.outputs[0], operands);
  std::vector<DType> types;
  for (const Tensor& input : inputs) types.push_back(input.dtype());
  const bool wraps = formula::StaysInIntegers(graph, types, out);
  std::set<int64_t> lanes;
  for (const int64_t element : elements) lanes.insert(evaluator.LaneOf(element));
  const double work = WorkOfMutants(graph);
  const auto most = static_cast<int64_t>(std::max(2.0, kMostWork / work));
  const int64_t stride = (std::ssize(lanes) + most - 1) / most;
  const int64_t terms = std::ranges::max(nodes, {}, &formula::FaultyNode::terms).terms;
  int64_t number = 0;
  for (const int64_t lane : lanes) {
    if (number++ % stride != 0) continue;
    const std::vector<int64_t> places = evaluator.Elements(lane);
    // Runs the same arithmetic without the fault, so that only the fault makes a difference.
    const std::span<const double> faultless = evaluator.Run(lane, {});
    const std::vector<double> right(faultless.begin(), faultless.end());
    for (const formula::FaultyNode& faulty : nodes) {
      for (const int64_t term : SampledTerms(faulty.terms, lane)) {
        const std::span<const double> wrong = evaluator.Run(lane, {faulty.node, term});
        const int64_t telling = MostTelling(right, wrong);
        if (telling < 0) continue;
        const auto at = static_cast<size_t>(telling);
        const double y = values[static_cast<size_t>(places[at])], value = y + (wrong[at] - right[at]);
        const std::optional<int64_t> wrapped = wraps ? formula::WrapExact(out, {value, 0}) : std::nullopt;
        if (wraps && !wrapped) continue;  // undefined: it has no wrong result
        const double result = wrapped ? static_cast<double>(*wrapped) : value;
        if (AreAlike(out, result, y)) continue;
        // Sums of exponentials do not depend on the maximum that is taken off their exponents, but for roundings.
        const bool is_noise = std::fabs(wrong[at] - right[at]) <= 0x1p-40 * std::fabs(right[at]);
        if (is_noise && formula::IsExtreme(graph.At(faulty.node).kind)) continue;
        const int64_t key = (lane * std::ssize(graph.nodes) + faulty.node) * terms + term;
        mutants.push_back({.index = places[at], .value = result, .term = term, .key = key});
      }
    }
  }
  return mutants;
}

std::vector<Mutant> FormulaOperator::OmittedTerms(const Problem& problem, size_t output, std::span<const Tensor> inputs,
                                                  std::span<const double> values,
                                                  std::span<const int64_t> elements) const {
  const formula::Definition definition = DefinitionOf(problem, output);
  return FormulaMutants(definition.graph(), inputs, values, elements, problem.outputs[output].dtype);
}

// A problem with a single lane, or with as many as the operator cannot do without, which tells which window is narrow
// enough.
Problem FormulaOperator::OneLane(const Problem& problem, size_t output) const {
  Problem one = problem;
  for (const SliceAxes& axes : Slices(problem, output)) {
    const formula::Definition definition = DefinitionOf(one, output);
    const int axis = definition.graph().outputs[0].axes[static_cast<size_t>(axes.output)];
    const std::string key = definition.graph().axes[static_cast<size_t>(axis)].name;
    if (schema_.Find(key) != nullptr) one = TryRebind(*this, one, {{key, "1"}}).value_or(one);
  }
  return one;
}

std::optional<Twin> FormulaOperator::MakeTwin(const Problem& problem, size_t output, const Contract& contract,
                                              int variant) const {
  if (variant == kFormulaTieVariant) return MakeTieTwin(problem, output, contract);
  if (WholeDefinitionOf(problem).saturates()) return MakeRoundingTwin(problem, output, contract);
  if (!IsFloat(problem.outputs[output].dtype)) return std::nullopt;
  const Tier tier = SizeOf(problem.outputs[output].dtype) == 8 ? Tier::kReproducible : Tier::kFast;
  const Problem one = OneLane(problem, output);
  const formula::Definition of_one = DefinitionOf(one, output), of_all = DefinitionOf(problem, output);
  const int64_t tried = CountTried(of_one.graph());
  const double work = WorkOfMutants(of_one.graph());
  double spent = 0;
  TwinForm best_form;
  Window best;
  int64_t most_seen = 0;
  const auto try_window = [&](const TwinForm& form, const Window& window) {
    const std::vector<Tensor> inputs = WindowInputs(of_one, one, form, window);
    const Golden golden = ComputeGolden(one, output, inputs, tier);
    const std::vector<Mutant> mutants =
        FormulaMutants(of_one.graph(), inputs, golden.value, std::vector<int64_t>{0}, problem.outputs[output].dtype);
    const int64_t seen = CountSeen(mutants, golden, Bound(one, output, golden, contract));
    const bool is_wider = seen == most_seen && seen > 0 && form == best_form && window.size == best.size;
    if (seen > most_seen || is_wider) best_form = form, best = window, most_seen = seen;
  };
  const std::vector<TwinForm> forms = FormsOf(of_one);
  for (const TwinForm& form : forms) {
    const bool is_first = &form == &forms.front();
    // Larger terms where ones do not show everything: beside a constant, say, that is added to a mean square.
    for (const double size : {1.0, 64.0, 4096.0}) {
      const int64_t end = is_first ? form.terms : 2 * form.terms;  // others with all terms as well
      // Two equal terms have no deviation from their mean.
      for (int64_t visible = form.terms == 2 ? 1 : 2; visible < end && (size == 1 || most_seen < tried); visible *= 2) {
        if (!is_first && (most_seen >= tried || (spent += work) > kMostWork)) break;
        try_window(form, {std::min(visible, form.terms), size});
      }
    }
    for (const double size : {1.0, 0.25, 4.0}) {
      if (is_first && most_seen < tried) try_window({.signs = true}, {.size = size});
    }
  }
  if (most_seen == 0) return std::nullopt;
  Twin twin;
  twin.inputs = WindowInputs(of_all, problem, best_form, best);
  const Golden golden = ComputeGolden(problem, output, twin.inputs, tier);
  twin.tolerances = TolerancesOf(golden, Bound(problem, output, golden, contract), problem.outputs[output].dtype);
  twin.expected = golden.value;
  twin.costly = true;
  twin.code =
      best_form.signs ? "terms of one size and random sign" : fmt::format("{} equal terms in each line", best.visible);
  return twin;
}

}  // namespace assay
