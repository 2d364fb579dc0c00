// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/tolerance_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/core/base/text.h"

namespace assay {
namespace {

// The lines of one golden value.
class Derivation {
 public:
  Derivation(const Golden& golden, const BoundModel& bound, const Contract& contract, int64_t i)
      : golden_(golden), bound_(bound), contract_(contract), i_(i) {}

  std::vector<DerivationLine> Lines(const Judgement& judged) {
    if (judged.allowed == 0) {
      Add("A", "0: nothing is rounded on the way, so that the rounded golden value alone is right", 0);
    } else {
      AddSteps();
      AddAllowed();
    }
    Add("rounding", "the output's own, from the result to the end of what rounds to it", judged.rounding);
    Add("tolerance", "A + rounding", judged.Tolerance());
    return std::move(lines_);
  }

 private:
  void Add(std::string symbol, std::string formula, double value) {
    lines_.push_back({std::move(symbol), std::move(formula), value});
  }

  double PlaneNumber(const Plane& plane) const { return PlaneAt(plane, i_, golden_.size()); }

  // K, u and gamma, where the operator is a sum.
  void AddSteps() {
    Add("u", fmt::format("unit roundoff of the accumulator, {}", FieldText(contract_, "acc")),
        contract_.AccUnitRoundoff());
    if (!bound_.derivation) return;
    const SumDerivation& d = *bound_.derivation;
    Add("K", "terms of the sum", d.terms);
    Add("h", "roundings on the longest path of a term, in any order", d.height);
    Add("gamma", "2 h u / (1 - 2 h u); 2, since the accumulator may cut off", d.gamma);
    if (d.input > 0) Add("in", "rounded operands: ua + ub + ua ub", d.input);
    if (d.cut > 0) Add("cut", "ceil(K / b) 2^-23, outputs that the unit truncates", d.cut);
    if (d.mid > 0) Add("mid", "roundings of partial results and of a division", d.mid);
  }

  // Names the plane of a term.
  std::string NameOf(const Plane* plane) const {
    if (plane == &golden_.magnitude) return "S";
    for (const auto& [name, extra] : golden_.extra) {
      if (plane == &extra) return name;
    }
    return "P";
  }

  std::string FormulaOf(const Plane* plane) const {
    const std::string name = NameOf(plane);
    if (name == "S") return "sum of the terms without their signs, rounded up";
    if (name == "P") return "the roundings of all steps of the formula, carried through to this element";
    return "golden plane of that name";
  }

  // "c S", c by its formula where the operator has left it as the sum has it.
  void AddCoefficient(const BoundTerm& term, const std::string& symbol) {
    const bool is_sum = bound_.derivation && NameOf(term.plane) == "S";
    std::string formula = "coefficient of " + NameOf(term.plane);
    if (is_sum) {
      const SumDerivation& d = *bound_.derivation;
      const double plain = (d.input + d.gamma + d.cut + d.mid * (1 + d.gamma)) * d.inflation;
      const bool unchanged = std::fabs(term.coefficient - plain) <= 1e-9 * plain;
      std::vector<std::string> parts = {"gamma"};
      if (d.input > 0) parts.insert(parts.begin(), "in");
      if (d.cut > 0) parts.push_back("cut");
      if (d.mid > 0) parts.push_back("mid (1 + gamma)");
      formula = fmt::format("{}", fmt::join(parts, " + "));
      if (d.inflation > 1) formula = fmt::format("({}) (1 + ua) (1 + ub)", formula);
      if (!unchanged) formula += ", with the operator's further steps";
    }
    Add(symbol, formula, term.coefficient);
  }

  void AddAllowed() {
    std::vector<std::string> parts;
    double sum = 0;
    for (size_t j = 0; j < bound_.terms.size(); ++j) {
      const BoundTerm& term = bound_.terms[j];
      const double number = PlaneNumber(*term.plane);
      if (term.coefficient * number == 0) continue;
      const std::string name = NameOf(term.plane) + (NameOf(term.plane) == "P" && j > 0 ? fmt::to_string(j) : "");
      const std::string factor = "c" + (j > 0 ? fmt::to_string(j) : std::string());
      Add(name, FormulaOf(term.plane), number);
      if (term.coefficient != 1) AddCoefficient(term, factor);
      parts.push_back(term.coefficient == 1 ? name : factor + " " + name);
      sum += term.coefficient * number;
    }
    if (bound_.constant > 0) {
      Add("underflow", "the most that all steps lose to it", bound_.constant);
      parts.push_back("underflow");
    }
    const double error = PlaneNumber(golden_.error);
    Add("E_gold", "the golden value's own error", error);
    parts.push_back("E_gold");
    Add("A", fmt::format("{}", fmt::join(parts, " + ")), sum + bound_.constant + error);
  }

  const Golden& golden_;
  const BoundModel& bound_;
  const Contract& contract_;
  int64_t i_;
  std::vector<DerivationLine> lines_;
};

}  // namespace

Result<ElementPlace> ParseElementPlace(const std::string& text, const Problem& problem, size_t output) {
  const auto bad = [&](const std::string& what) {
    return UsageError(fmt::format("'{}' is no element: {}; give a place such as [3,5]", text, what));
  };
  const size_t bracket = text.find('[');
  std::string numbers = bracket == std::string::npos ? text : text.substr(bracket + 1);
  if (bracket != std::string::npos) {
    if (!numbers.ends_with(']')) return bad("it has no ]");
    numbers.pop_back();
  }
  std::erase(numbers, ' ');  // "[3, 5]", as Python prints places
  ElementPlace place{output, 0};
  if (bracket != std::string::npos && bracket > 0) {
    const std::string name = text.substr(0, bracket);
    const auto found = std::ranges::find(problem.outputs, name, &Operand::name);
    if (found == problem.outputs.end()) return bad(fmt::format("there is no output {}", name));
    place.output = static_cast<size_t>(found - problem.outputs.begin());
  }
  const Shape& shape = problem.outputs[place.output].shape;
  const std::vector<std::string_view> parts = numbers.empty() ? std::vector<std::string_view>() : Split(numbers, ',');
  if (parts.size() != shape.size()) {
    return bad(fmt::format("{} has {} axes", problem.outputs[place.output].name, shape.size()));
  }
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const auto number = ParseNumber<int64_t>(parts[axis]);
    if (!number || *number < 0 || *number >= shape[axis]) {
      return bad(fmt::format("{} lies in no place of the {} along axis {}", parts[axis], shape[axis], axis));
    }
    place.element = place.element * shape[axis] + *number;
  }
  return place;
}

DerivedTolerance DeriveTolerance(const Problem& problem, const ElementPlace& place, const Golden& golden,
                                 const BoundModel& bound, const Contract& contract, const Tensor& got) {
  const ElementJudge judge(golden, bound, contract, got.dtype());
  const int64_t parts = golden.size() / std::max<int64_t>(1, got.size());
  DerivedTolerance derived;
  int64_t at = -1;
  for (int64_t i = place.element * parts; i < (place.element + 1) * parts; ++i) {
    double value = 0;
    got.Read(i, {&value, 1});
    const Judgement judged = judge.Judge(i, value);
    if (at >= 0 && !(judged.Margin() > derived.judged.Margin())) continue;
    at = i, derived.judged = judged, derived.got = value;
  }
  const Operand& output = problem.outputs[place.output];
  derived.place = output.name + IndexText(output.shape, place.element);
  if (parts > 1) derived.place += at % parts == 0 ? " real" : " imag";
  derived.golden = golden.value[static_cast<size_t>(at)];
  derived.lines = Derivation(golden, bound, contract, at).Lines(derived.judged);
  return derived;
}

std::string DerivationText(const DerivedTolerance& derived) {
  const Judgement& judged = derived.judged;
  const std::string end = !judged.finite    ? "NaN and infinity are judged by rules of their own"
                          : judged.accepted ? "right"
                                            : "wrong";
  std::string text = fmt::format("tolerance of {}: got {:.9g}, golden {:.9g}, error {:.3g}: {}\n", derived.place,
                                 derived.got, derived.golden, judged.error, end);
  for (const DerivationLine& line : derived.lines) {
    text += fmt::format("  {:<10} = {:<18.12g} {}\n", line.symbol, line.value, line.formula);
  }
  return text;
}

}  // namespace assay
