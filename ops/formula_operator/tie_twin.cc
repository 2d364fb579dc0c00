// SPDX-License-Identifier: Apache-2.0
// The twin of formulas that only add, subtract and multiply: integers whose results lie half way between two numbers of
// the output, so that ties alone are right that go where the contract says. Whatever is added to or multiplied with an
// integer in a binary floating-point format is an integer again, rounded or not. So where the bound allows less than 1,
// every order gives the exact result before it rounds the output. Which data have such results depends on the formula:
// a few forms are tried on few lanes, and the one with most ties is taken.
#include <algorithm>
#include <cmath>
#include <span>

#include "ops/exact_code.h"
#include "ops/exact_ties.h"
#include "ops/formula_operator/formula_operator.h"
#include "ops/formula_operator/indices.h"
#include "ops/relations.h"

namespace assay {
namespace {

using formula::Function;
using formula::Kind;
using formula::Role;

constexpr uint64_t kTieSeed = 0x746965;  // any constant: a twin does not depend on the case's seed
constexpr uint64_t kCarrierStream = 96, kPlaceStream = 97, kUnitStream = 112;
constexpr int64_t kFewLanes = 16;

bool KeepsIntegers(const formula::Node& node) {
  constexpr Function kExact[] = {Function::kAdd,     Function::kSub,    Function::kMul,
                                 Function::kNegate,  Function::kAbs,    Function::kMaximum,
                                 Function::kMinimum, Function::kSelect, Function::kFloorDivide};
  if (node.kind == Kind::kMap && formula::IsCondition(node.function)) return true;
  if (node.kind == Kind::kMap) return std::ranges::find(kExact, node.function) != std::end(kExact);
  if (node.kind == Kind::kConst) return node.constant == std::trunc(node.constant) && node.constant_lo == 0;
  return node.kind != Kind::kRound && node.kind != Kind::kTopK;
}

bool Rounds(const formula::Node& node) {
  return node.kind == Kind::kSum || node.kind == Kind::kProd || node.kind == Kind::kRecur ||
         node.kind == Kind::kScatterAdd || formula::Maps(node, Function::kAdd) || formula::Maps(node, Function::kSub) ||
         formula::Maps(node, Function::kMul);
}

// How carriers, even multiples of the output's last bit, and units, halves of that bit, lie among the operands.
struct TieForm {
  size_t carrier = 0;  // the operand that holds carriers; where it is one of weights, data are 5 and 7
  int64_t one_in = 1;  // so many of its elements; 0: the first one of each line, of weights the one 5 or 7 of each line
};

class TieData {
 public:
  TieData(const formula::Definition& definition, const Problem& problem, DType out)
      : definition_(definition), problem_(problem), bits_(FormatOf(out).precision) {
    const auto& roles = definition.roles();
    first_data_ = static_cast<size_t>(std::ranges::find(roles, Role::kData) - roles.begin());
  }

  bool IsWeight(size_t input) const {
    const Role role = definition_.roles()[input];
    return role == Role::kWeight || role == Role::kTable || role == Role::kPositive;
  }
  // Whether the operand's type holds what the form asks of it.
  bool Serves(const TieForm& form) const {
    const DType type = problem_.inputs[form.carrier].dtype;
    const Role role = definition_.roles()[form.carrier];
    const bool holds = IsFloat(type) && FormatOf(type).max_finite >= std::ldexp(1.0, bits_ + 1);
    if (IsWeight(form.carrier)) return holds && FormatOf(type).precision >= bits_ - 2 && form.one_in <= 1;
    return holds && role == Role::kData && std::ldexp(1.0, bits_ - 2) >= StepOf(type);
  }

  std::vector<Tensor> Make(const TieForm& form) const {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < problem_.inputs.size(); ++i) {
      Tensor tensor(problem_.inputs[i].dtype, problem_.inputs[i].shape);
      std::vector<double> values(static_cast<size_t>(tensor.size()));
      for (size_t at = 0; at < values.size(); ++at) values[at] = ElementFor(form, i, static_cast<int64_t>(at));
      tensor.SetDoubles(values);
      const formula::InputInfo& info = definition_.graph().inputs[i];
      const bool stays_zero = IsLone(form) && info.places == formula::PlaceKind::kIndices;
      if (info.places_along >= 0 && !stays_zero) DrawPlaces(definition_.graph(), i, kTieSeed, tensor);
      inputs.push_back(std::move(tensor));
    }
    return inputs;
  }

 private:
  // Carriers are multiples of it, so that they are even outputs which the operand holds.
  double StepOf(DType type) const { return std::max(4.0, std::ldexp(1.0, bits_ + 1 - FormatOf(type).precision)); }

  double ElementFor(const TieForm& form, size_t input, int64_t at) const {
    if (definition_.roles()[input] == Role::kZero) return 0;
    if (definition_.roles()[input] == Role::kCondition) return 1;
    if (IsWeight(input)) return input == form.carrier ? Weight(at) : 1;
    const Shape& shape = problem_.inputs[input].shape;
    const int64_t length = shape.empty() ? 1 : shape.back();
    if (IsLone(form) && input != first_data_) return definition_.roles()[input] == Role::kData ? 1 : 0;
    if (IsLone(form) && at % length != 0) return 0;
    if (IsWeight(form.carrier)) {
      const int64_t turn = IsLone(form) ? at / length : at;
      const bool positive = problem_.inputs[input].dtype == DType::kU8 || TwinFactor(kUnitStream + input, at, 2) == 1;
      return (turn % 2 == 0 ? 5 : 7) * (positive ? 1.0 : -1.0);
    }
    // From the second place on units add up to 1, 0, -1, 0 and so on, however long the line is.
    const double in_turn = (at % length + 3) % 4 % 3 == 0 ? 1 : -1;
    const double unit = form.one_in == 0 ? in_turn : static_cast<double>(TwinFactor(kUnitStream + input, at, 3) - 2);
    if (input != form.carrier) return unit;
    const bool carries = form.one_in == 0 ? at % length == 0 : TwinFactor(kPlaceStream, at, form.one_in) == 1;
    return carries ? (at / length % 2 == 0 ? 1 : -1) * Carrier(at, StepOf(problem_.inputs[input].dtype)) : unit;
  }

  // Sums of products that are scaled as a whole: one term is 5 or 7 times a weight, the others are 0.
  bool IsLone(const TieForm& form) const { return IsWeight(form.carrier) && form.one_in == 0; }

  // Between 1.25 and 1.75 times 2^p, for outputs of p bits.
  double Carrier(int64_t at, double step) const {
    const double base = std::ldexp(1.0, bits_);
    const auto many = static_cast<int64_t>(base / 2 / step);
    return 1.25 * base + step * static_cast<double>(TwinFactor(kCarrierStream, at, std::max<int64_t>(many, 1)) - 1);
  }

  // An odd number of which 5 and 7 times have p + 1 bits, and differ by 2 modulo 4: one is rounded up, the other down.
  double Weight(int64_t at) const {
    return 2 * std::floor(std::ldexp(1.0, bits_) / 9) + static_cast<double>(2 * TwinFactor(kCarrierStream, at, 4) - 1);
  }

  const formula::Definition& definition_;
  const Problem& problem_;
  int bits_;
  size_t first_data_;
};

struct Ties {
  std::vector<double> rounded;  // what every legal order gives; other elements as they are
  std::vector<double> tolerances;
  int64_t up = 0, down = 0;  // ties that are rounded up, and down
  bool overflows = false;

  int64_t Shown() const { return overflows ? 0 : 1000 * std::min(up, down) + up + down; }
};

// Elements whose error may reach 1 keep their bound as a tolerance.
Ties FindTies(const Golden& golden, const BoundModel& bound, DType out, const Contract& contract) {
  Ties ties;
  const FloatFormat& format = FormatOf(out);
  for (int64_t i = 0; i < golden.size(); ++i) {
    const double y = golden.value[static_cast<size_t>(i)], nearest = RoundToNearest(out, contract, y),
                 ulp = UlpAt(format, y);
    const bool exact = bound.At(golden, i) < 1;
    ties.rounded.push_back(exact ? nearest : y);
    ties.overflows = ties.overflows || (!exact && std::isinf(nearest));
    ties.tolerances.push_back(exact ? 0 : bound.LargestToleranceAt(golden, i) / ulp);
    if (exact && std::abs(y - nearest) == ulp / 2) ++(std::abs(nearest) > std::abs(y) ? ties.up : ties.down);
  }
  return ties;
}

}  // namespace

int FormulaOperator::TwinVariants(const Problem& problem, size_t output, const Contract& contract) const {
  const DType out = problem.outputs[output].dtype;
  const bool narrows = IsFloat(out) && !IsComplex(out) && FormatOf(out).precision < FormatOf(DType::kF64).precision &&
                       FormatOf(out).UnitRoundoff() > contract.AccUnitRoundoff();
  if (!narrows || !contract.RoundsToNearest() || contract.alg != Algorithm::kDirect) return 1;
  if (WholeDefinitionOf(problem).saturates()) return 1;
  const formula::Definition definition = DefinitionOf(problem, output);
  const std::vector<formula::Node>& nodes = definition.graph().nodes;
  return std::ranges::all_of(nodes, KeepsIntegers) && std::ranges::any_of(nodes, Rounds) ? kFormulaTieVariant + 1 : 1;
}

std::optional<Twin> FormulaOperator::MakeTieTwin(const Problem& problem, size_t output,
                                                 const Contract& contract) const {
  Problem few = problem;
  for (const SliceAxes& axes : Slices(problem, output)) {
    const formula::Definition definition = DefinitionOf(few, output);
    const int axis = definition.graph().outputs[0].axes[static_cast<size_t>(axes.output)];
    const formula::AxisInfo& info = definition.graph().axes[static_cast<size_t>(axis)];
    if (schema_.Find(info.name) == nullptr || info.extent <= kFewLanes) continue;
    few = TryRebind(*this, few, {{info.name, std::to_string(kFewLanes)}}).value_or(few);
  }
  const DType out = problem.outputs[output].dtype;
  const auto ties_of = [&](const Problem& of, std::span<const Tensor> inputs) {
    const Golden golden = ComputeGolden(of, output, inputs, Tier::kFast);
    return FindTies(golden, Bound(of, output, golden, contract), out, contract);
  };
  const formula::Definition of_few = DefinitionOf(few, output), of_all = DefinitionOf(problem, output);
  const TieData data(of_few, few, out);
  TieForm best;
  int64_t most = 0;
  for (TieForm form; form.carrier < few.inputs.size(); ++form.carrier) {
    for (const int64_t one_in : {0, 1, 2, 8, 64}) {
      form.one_in = one_in;
      if (!data.Serves(form)) continue;
      if (const int64_t shown = ties_of(few, data.Make(form)).Shown(); shown > most) best = form, most = shown;
    }
  }
  if (most == 0) return std::nullopt;
  Twin twin;
  twin.inputs = TieData(of_all, problem, out).Make(best);
  Ties ties = ties_of(problem, twin.inputs);
  if (ties.overflows) return std::nullopt;  // with fewer lanes they did not
  twin.expected = std::move(ties.rounded);
  twin.tolerances = std::move(ties.tolerances);
  twin.tolerance_ulp = *std::ranges::max_element(twin.tolerances);
  twin.costly = true;
  twin.code = DescribeTies("sums lie", contract);
  return twin;
}

}  // namespace assay
