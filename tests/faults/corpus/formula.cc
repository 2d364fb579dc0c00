// SPDX-License-Identifier: Apache-2.0
// Every operator that is a formula: correct schedules by seed, and the bugs that its graph has a place for. A place is
// named by what it is and its number among its kind, as "reduction-2".
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/formula_operator/cases.h"
#include "tests/faults/corpus/formula_plan.h"

namespace corpus {
namespace {

using assay::Algorithm;
using assay::FormulaOperator;
using assay::formula::Graph;
using assay::formula::Kind;
using assay::formula::Node;

constexpr uint64_t kSchedules = 8;

using IsPlace = bool (*)(const Graph&, const Node&);

bool IsReduction(const Graph&, const Node& node) {
  return assay::formula::IsReduction(node.kind);
}
// A reduction whose terms leave a rest after vectors of 16.
bool HasTail(const Graph& graph, const Node& node) {
  if (!assay::formula::IsReduction(node.kind)) return false;
  const int64_t terms = graph.ExtentOf(node.reduced);
  return terms > 16 && terms % 16 != 0;
}
bool IsLongRecurrence(const Graph& graph, const Node& node) {
  return node.kind == Kind::kRecur && graph.Extent(node.axis) > 16;
}
bool IsSum(const Graph&, const Node& node) {
  return node.kind == Kind::kSum;
}
bool IsRecurrence(const Graph&, const Node& node) {
  return node.kind == Kind::kRecur;
}
bool IsSelection(const Graph&, const Node& node) {
  return node.kind == Kind::kTopK;
}
bool IsGather(const Graph&, const Node& node) {
  return node.kind == Kind::kGather;
}
bool IsScatter(const Graph&, const Node& node) {
  return node.kind == Kind::kScatterAdd;
}
bool IsMove(const Graph&, const Node& node) {
  return node.kind == Kind::kAt;
}
bool IsConstant(const Graph&, const Node& node) {
  return node.kind == Kind::kConst && node.constant != 0 && std::isfinite(node.constant);
}
// Where results are cut off. Zero, where unsigned ones are, is not moved by a factor.
bool IsLimit(const Graph& graph, const Node& node) {
  if (!IsConstant(graph, node)) return false;
  const int at = static_cast<int>(&node - graph.nodes.data());
  return std::ranges::any_of(graph.nodes, [&](const Node& user) {
    using assay::formula::Function;
    const bool cuts =
        user.kind == Kind::kMap && (user.function == Function::kMinimum || user.function == Function::kMaximum);
    return cuts && std::ranges::find(user.args, at) != user.args.end();
  });
}
bool IsFunction(const Graph&, const Node& node) {
  if (node.kind != Kind::kMap) return false;
  const auto rounding = assay::formula::Info(node.function).rounding;
  return rounding == assay::formula::Rounding::kFunction || rounding == assay::formula::Rounding::kComposition ||
         rounding == assay::formula::Rounding::kRoot || rounding == assay::formula::Rounding::kDivide;
}

bool IsPower(const Graph&, const Node& node) {
  return node.kind == Kind::kMap && node.function == assay::formula::Function::kPow;
}

bool IsQuotientOfIntegers(const Graph& graph, const Node& node) {
  return IsQuotientResult(graph) && &node == &graph.nodes[static_cast<size_t>(graph.outputs[0].node)];
}

// A function that is the result itself: of others a NaN may come in by another way.
bool IsFunctionResult(const Graph& graph, const Node& node) {
  return IsFunction(graph, node) && &node == &graph.nodes[static_cast<size_t>(graph.outputs[0].node)];
}

// The node of that number among its kind, from 1; -1: there is none.
int PlaceOf(const Graph& graph, IsPlace is_place, int number) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (is_place(graph, graph.nodes[i]) && --number == 0) return static_cast<int>(i);
  }
  return -1;
}

std::vector<assay::formula::Definition> FewDefinitions(const FormulaOperator& op) {
  std::vector<assay::formula::Definition> definitions;
  for (const assay::CaseSpec& spec : op.FewCases()) definitions.push_back(op.WholeDefinitionOf(op.Bind(spec).value()));
  return definitions;
}

// A fault without its place in a graph.
struct FaultKind {
  const char* place;  // "reduction"
  const char* name;   // "last-term-dropped"
  IsPlace is_place;
  FormulaFault fault;               // without the place
  int FormulaFault::*of = nullptr;  // where the place goes; nullptr: into the bug
};

constexpr FormulaFault BugOf(BugKind kind, int numerator = 0, Where where = Where::kEverywhere) {
  return {.bug = {.kind = kind, .numerator = numerator}, .where = where};
}
constexpr FormulaFault Scaled(double factor) {
  return {.bug = {}, .factor = factor};
}

const FaultKind kKinds[] = {
    {"reduction", "first-term-dropped", IsReduction, BugOf(BugKind::kSkipsTerm, 0)},
    {"reduction", "middle-term-dropped", IsReduction, BugOf(BugKind::kSkipsTerm, 2)},
    {"reduction", "last-term-dropped", IsReduction, BugOf(BugKind::kSkipsTerm, 4)},
    {"reduction", "last-term-dropped-in-last-slice", IsReduction, BugOf(BugKind::kSkipsTerm, 4, Where::kLastSlice)},
    {"reduction", "tail-dropped", HasTail, BugOf(BugKind::kSkipsTail)},
    {"reduction", "blind-to-nan", IsReduction, BugOf(BugKind::kBlindToNan)},
    {"sum", "in-bf16", IsSum, BugOf(BugKind::kNarrowSum)},
    {"sum", "kept-in-bf16", IsSum, BugOf(BugKind::kNarrowValue)},
    {"recurrence", "in-bf16", IsRecurrence, BugOf(BugKind::kNarrowSum)},
    {"recurrence", "blind-to-nan", IsRecurrence, BugOf(BugKind::kBlindToNan)},
    {"recurrence", "forgets-every-16-steps", IsLongRecurrence, BugOf(BugKind::kForgets)},
    {"function", "of-12-bits", IsFunction, BugOf(BugKind::kFewBits)},
    {"function", "kept-in-bf16", IsFunction, BugOf(BugKind::kNarrowValue)},
    {"function", "of-12-bits-in-last-slice", IsFunction, BugOf(BugKind::kFewBits, 0, Where::kLastSlice)},
    {"result", "blind-to-nan", IsFunctionResult, BugOf(BugKind::kBlindToNan)},
    {"quotient", "rounded-towards-zero", IsQuotientOfIntegers, BugOf(BugKind::kTruncates)},
    {"power", "of-minus-infinity-by-odd-is-positive", IsPower, BugOf(BugKind::kOddPowerPositive)},
    {"power", "of-minus-infinity-by-even-is-negative", IsPower, BugOf(BugKind::kEvenPowerNegative)},
    {"power", "of-minus-infinity-by-minus-odd-is-nan", IsPower, BugOf(BugKind::kOddInverseNan)},
    {"power", "of-minus-infinity-by-minus-even-is-nan", IsPower, BugOf(BugKind::kEvenInverseNan)},
    {"power", "of-minus-zero-by-minus-odd-is-positive", IsPower, BugOf(BugKind::kOddPolePositive)},
    {"power", "of-minus-zero-by-minus-even-is-negative", IsPower, BugOf(BugKind::kEvenPoleNegative)},
    {"power", "of-minus-one-by-infinity-is-nan", IsPower, BugOf(BugKind::kUnitPowerNan)},
    {"constant", "dropped", IsConstant, Scaled(0), &FormulaFault::constant},
    {"constant", "off-by-a-thousandth", IsConstant, Scaled(1.001), &FormulaFault::constant},
    {"limit", "beyond-the-type", IsLimit, Scaled(1e3), &FormulaFault::constant},
    {"move", "off-by-one", IsMove, {}, &FormulaFault::shifted_index},
    {"gather", "next-place", IsGather, BugOf(BugKind::kNextPlace)},
    {"gather", "next-place-in-last-slice", IsGather, BugOf(BugKind::kNextPlace, 0, Where::kLastSlice)},
    {"scatter", "base-dropped", IsScatter, BugOf(BugKind::kSkipsTerm, 0)},
    {"scatter", "last-update-dropped", IsScatter, BugOf(BugKind::kSkipsTerm, 4)},
    {"scatter", "last-update-dropped-in-last-slice", IsScatter, BugOf(BugKind::kSkipsTerm, 4, Where::kLastSlice)},
    {"scatter", "last-update-wins", IsScatter, BugOf(BugKind::kLastWins)},
    {"scatter", "in-bf16", IsScatter, BugOf(BugKind::kNarrowSum)},
    {"selection", "second-rank-overlooked", IsSelection, BugOf(BugKind::kSkipsRank)},
    {"selection", "second-rank-overlooked-in-last-slice", IsSelection,
     BugOf(BugKind::kSkipsRank, 0, Where::kLastSlice)},
    {"selection", "blind-to-nan", IsSelection, BugOf(BugKind::kBlindToNan)},
};

// How many places of that name the graphs of an operator have at most, in cases that have every choice. Extents decide
// which of them have a tail or are long.
int MostPlaces(const std::vector<assay::formula::Definition>& cases, std::string_view place) {
  int64_t most = 0;
  for (const FaultKind& kind : kKinds) {
    if (kind.place != place) continue;
    for (const assay::formula::Definition& one : cases) {
      const auto is_place = [&](const Node& node) { return kind.is_place(one.graph(), node); };
      most = std::max<int64_t>(most, std::ranges::count_if(one.graph().nodes, is_place));
    }
  }
  return static_cast<int>(most);
}

Entry EntryOf(const FormulaOperator& op, std::string name, std::function<std::string(Description)> why_not,
              std::function<std::unique_ptr<plugin::Plan>(Description, bool)> create) {
  return {op.schema().op, std::move(name), FormulaContract, std::move(why_not), std::move(create)};
}

// Integers that wrap around are none of what is simulated, and a double has no quotient of i64; every other description
// is taken, after its attributes were read.
std::function<std::string(Description)> WhyNot(const FormulaOperator& op) {
  return [&op](Description d) -> std::string {
    const plugin::DType y = d.outputs()[0].dtype;
    const assay::formula::Definition definition = DefinitionFor(op, d);
    if (!definition.refusal().empty()) return definition.refusal();
    const Graph& graph = definition.graph();
    const bool is_exact = y == plugin::kBool8 || graph.At(graph.outputs[0].node).places;
    if (IsQuotientResult(graph) && y != plugin::kI64) return "";
    const bool is_of_reals = op.Saturates() || (is_exact && plugin::IsFloat(d.inputs()[0].dtype));
    return plugin::IsInteger(y) && !is_of_reals ? "the corpus has formulas of real numbers" : "";
  };
}

// "legal.schedule-3", or of other schedules than the direct one "legal.onepass-3".
Entry LegalEntry(const FormulaOperator& op, Algorithm schedule, uint64_t seed) {
  const bool is_direct = schedule == Algorithm::kDirect;
  const std::string name(is_direct ? "schedule" : assay::AlgorithmName(schedule));
  Entry entry = EntryOf(op, fmt::format("legal.{}-{}", name, seed), WhyNot(op),
                        [&op, schedule, seed](Description d, bool) { return MakeLegalFormula(op, d, schedule, seed); });
  entry.contract = [is_direct, name](Description d) {
    return ScheduleContract(d) + (is_direct ? "" : fmt::format(";alg={}", name));
  };
  return entry;
}

// A kernel of another schedule that says nothing of it. Its roundings are the bug, so that they stay in its effect.
Entry UndeclaredEntry(const FormulaOperator& op, Algorithm schedule) {
  return EntryOf(op, fmt::format("fault.undeclared-{}", assay::AlgorithmName(schedule)), WhyNot(op),
                 [&op, schedule](Description d, bool) { return MakePlainFormula(op, d, schedule); });
}

FormulaFault At(const FaultKind& kind, int node) {
  FormulaFault fault = kind.fault;
  (kind.of == nullptr ? fault.bug.node : fault.*kind.of) = node;
  return fault;
}

Entry PlacedEntry(const FormulaOperator& op, const FaultKind& kind, int number) {
  const auto place = [&op, &kind, number](Description d) {
    return PlaceOf(DefinitionFor(op, d).graph(), kind.is_place, number);
  };
  const auto why_not = [place, &kind, number](Description d) {
    return place(d) >= 0 ? "" : fmt::format("there is no {} of number {}", kind.place, number);
  };
  return EntryOf(
      op, fmt::format("fault.{}-{}-{}", kind.place, number, kind.name), why_not,
      [&op, &kind, place](Description d, bool exact) { return MakeFaultyFormula(op, d, At(kind, place(d)), exact); });
}

Entry FixedEntry(const FormulaOperator& op, std::string name, const FormulaFault& fault) {
  return EntryOf(op, std::move(name), WhyNot(op),
                 [&op, fault](Description d, bool exact) { return MakeFaultyFormula(op, d, fault, exact); });
}

// The fault shifts an operand that not every case has.
Entry ShiftedEntry(const FormulaOperator& op, const std::string& operand) {
  const auto place = [&op, operand](Description d) {
    const auto inputs = DefinitionFor(op, d).graph().inputs;
    const auto found = std::ranges::find(inputs, operand, &assay::formula::InputInfo::name);
    return found == inputs.end() ? -1 : static_cast<int>(found - inputs.begin());
  };
  const auto why_not = [&op, place, operand](Description d) {
    const std::string refusal = WhyNot(op)(d);
    return refusal.empty() && place(d) < 0 ? "there is no operand " + operand : refusal;
  };
  const auto create = [&op, place](Description d, bool exact) {
    FormulaFault shifted;
    shifted.shifted_input = place(d);
    return MakeFaultyFormula(op, d, shifted, exact);
  };
  return EntryOf(op, fmt::format("fault.{}-shifted-by-one", operand), why_not, create);
}

}  // namespace

std::vector<Entry> FormulaEntries(std::string_view name) {
  std::vector<Entry> entries;
  for (const FormulaOperator* op : assay::AllFormulas()) {
    if (op->schema().op != name) continue;
    entries.push_back(FixedEntry(*op, "legal.plain", {}));
    for (const Algorithm schedule : op->traits().algorithms) {
      for (uint64_t seed = 0; seed < kSchedules; ++seed) entries.push_back(LegalEntry(*op, schedule, seed));
      if (schedule != Algorithm::kDirect) entries.push_back(UndeclaredEntry(*op, schedule));
    }
    const std::vector<assay::formula::Definition> cases = FewDefinitions(*op);
    for (const FaultKind& kind : kKinds) {
      const int most = MostPlaces(cases, kind.place);
      for (int number = 1; number <= most; ++number) entries.push_back(PlacedEntry(*op, kind, number));
    }
    FormulaFault last_unwritten;
    last_unwritten.leaves_last = true;
    entries.push_back(FixedEntry(*op, "fault.last-element-unwritten", last_unwritten));
    std::vector<std::string> inputs = op->schema().operands;
    inputs.pop_back();
    for (const std::string& input : inputs) entries.push_back(ShiftedEntry(*op, input));
  }
  return entries;
}

}  // namespace corpus
