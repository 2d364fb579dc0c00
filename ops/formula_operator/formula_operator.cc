// SPDX-License-Identifier: Apache-2.0
#include "ops/formula_operator/formula_operator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ops/binding.h"
#include "ops/formula/block.h"
#include "ops/formula/formula_error.h"
#include "ops/formula_operator/relations.h"
#include "ops/relation.h"
#include "ops/relations.h"
#include "ops/slices.h"

namespace assay {
namespace {

using formula::Definition;
using formula::Graph;

// One type for each operand.
std::vector<DType> ExpandTypes(std::vector<DType> types, size_t operands) {
  if (types.size() == 1) types.resize(operands, types[0]);
  return types;
}

formula::AttrValues ValuesOf(const Problem& problem, const OpSchema& schema, Algorithm schedule) {
  formula::AttrValues values;
  values.lacks_operand = schema.Lacks(problem.spec.dtypes);
  values.schedule = schedule;
  values.types = problem.spec.dtypes;
  for (const ResolvedAttr& attr : problem.attrs) {
    if (attr.type == AttrType::kInt) values.integers[attr.key] = attr.i;
    if (attr.type == AttrType::kFloat) values.reals[attr.key] = attr.f;
    if (attr.type == AttrType::kName) values.names[attr.key] = attr.s;
  }
  return values;
}

Shape ShapeOf(const Graph& graph, const std::vector<int>& axes) {
  Shape shape;
  for (const int axis : axes) shape.push_back(graph.Extent(axis));
  return shape;
}

int64_t PositionOf(const std::vector<int>& axes, int axis) {
  const auto at = std::ranges::find(axes, axis);
  return at == axes.end() ? -1 : at - axes.begin();
}

// How much of a table is read depends on the data: nothing of it is compulsory.
double BytesOfTable(const Problem& problem, const formula::Node& table) {
  if (table.kind != formula::Kind::kIn) return 0;
  return static_cast<double>(BytesOf(problem.inputs[static_cast<size_t>(table.input)]));
}

// Error for an operand whose number of axes differs from the operator's.
tl::unexpected<Error> RefuseAxes(const std::string& op, const Graph& graph, const formula::InputInfo& input,
                                 const Shape& shape, bool broadcasts) {
  if (formula::IsElementwise(graph)) {
    return UsageError(fmt::format(
        "{}: {} has shape {}, but must have one axis, as each element is computed by itself: give all operands and the "
        "output flat, as {}.ravel() is{}",
        op, input.name, ShapeText(shape), input.name,
        broadcasts ? "; with per=row, column or tensor x is [rows,n], beside a y of one number for each of these"
                   : ""));
  }
  std::vector<std::string> names;
  for (const int axis : input.axes) names.push_back(graph.axes[static_cast<size_t>(axis)].name);
  return UsageError(fmt::format(
      "{}: {} has shape {}, but must have the {} [{}]: join axes or add some, as {}.reshape(...) does", op, input.name,
      ShapeText(shape), names.size() == 1 ? "axis" : "axes", fmt::join(names, ","), input.name));
}

// The attribute that gives an operand's axis the extent it has.
Status InferAttr(const Definition& definition, const OpSchema& schema, const formula::InputInfo& input, size_t place,
                 int64_t extent, AttrList& given) {
  int axis = input.axes[place];
  const std::string& name = definition.graph().axes[static_cast<size_t>(axis)].name;
  if (const Definition::Derived* derived = definition.FindDerived(axis)) {
    if (extent * derived->over % derived->times != 0) {
      return UsageError(fmt::format("{}: axis {} of {} is {}; {} is no multiple of {}", schema.op, place, input.name,
                                    name, extent, derived->times));
    }
    extent = extent * derived->over / derived->times;
    axis = derived->of;
  }
  const std::string& key = definition.graph().axes[static_cast<size_t>(axis)].name;
  if (schema.Find(key) != nullptr) SetIfAbsent(given, key, std::to_string(extent));
  return {};
}

// Requires the schema's inputs of every case; only the case's types may change them.
void RequireInputsOf(const OpSchema& schema, const Graph& graph, const Problem& problem) {
  const bool lacks = schema.Lacks(problem.spec.dtypes);
  std::vector<std::string> stated, expected;
  for (const formula::InputInfo& input : graph.inputs) stated.push_back(input.name);
  for (const std::string& name : schema.operands) {
    const bool is_output = name == graph.outputs[0].name;
    if (!is_output && !(lacks && name == schema.may_lack)) expected.push_back(name);
  }
  formula::Require(
      stated == expected,
      "operator {}: {} has the inputs {}, but the schema {}. State the same inputs whatever the extents and "
      "choices",
      schema.op, problem.spec.Id(), fmt::join(stated, ", "), fmt::join(expected, ", "));
}

}  // namespace

FormulaOperator::FormulaOperator(std::string name, Definition::Author author)
    : name_(std::move(name)), author_(std::move(author)) {
  const Definition definition = Definition::ForSchema(name_, author_);
  schema_ = definition.Schema();
  saturates_ = definition.saturates();
  schedules_ = definition.schedules();
  for (const std::string& text : definition.types()) {
    types_.push_back(ExpandTypes(ParseDTypeList(text).value(), schema_.operands.size()));
  }
}

// Before main, where nobody catches anything.
RegisterFormula::RegisterFormula(const char* name, Definition::Author author) {
  try {
    OperatorRegistry::Global().Add(std::make_unique<FormulaOperator>(name, std::move(author)));
  } catch (const formula::FormulaError& error) {
    OperatorRegistry::Global().AddMistake({name, error.what()});
  }
}

Definition FormulaOperator::WholeDefinitionOf(const Problem& problem, Algorithm schedule) const {
  const bool has_it = std::ranges::find(schedules_, schedule) != schedules_.end();
  Definition definition =
      Definition::ForCase(name_, author_, ValuesOf(problem, schema_, has_it ? schedule : Algorithm::kDirect));
  for (const formula::GraphChange& change : changes_)
    formula::Require(definition.Change(change), "{}: the formula of this case has other nodes", name_);
  return definition;
}

std::unique_ptr<const FormulaOperator> FormulaOperator::WithChange(const formula::GraphChange& change) const {
  auto changed = std::make_unique<FormulaOperator>(*this);
  changed->changes_.push_back(change);
  changed->schedules_ = {Algorithm::kDirect};
  return changed;
}

Definition FormulaOperator::DefinitionOf(const Problem& problem, size_t output, Algorithm schedule) const {
  Definition definition = WholeDefinitionOf(problem, schedule);
  definition.KeepOutput(output);
  return definition;
}

std::string FormulaOperator::TypesText() const {
  std::vector<std::string> texts;
  for (const std::vector<DType>& row : types_) texts.push_back(DTypeListText(CanonicalDTypes(row, schema_).value()));
  return fmt::format("{}", fmt::join(texts, ", "));
}

Result<Problem> FormulaOperator::Bind(const CaseSpec& spec) const {
  Result<Problem> problem = StartProblem(spec, schema_);
  if (!problem) return problem;
  const std::vector<DType> types = ExpandTypes(problem->spec.dtypes, schema_.operands.size());
  if (std::ranges::find(types_, types) == types_.end()) {
    return BindError(
        *problem, fmt::format("no {} of {}; possible are {}", name_, DTypeListText(problem->spec.dtypes), TypesText()));
  }
  const Definition definition = WholeDefinitionOf(*problem);
  if (!definition.refusal().empty()) return BindError(*problem, definition.refusal());
  const Graph& graph = definition.graph();
  RequireInputsOf(schema_, graph, *problem);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    problem->inputs.push_back({graph.inputs[i].name, types[i], ShapeOf(graph, graph.inputs[i].axes)});
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    problem->outputs.push_back({graph.outputs[i].name, definition.TypeOfOutput(i, types),
                                ShapeOf(graph, graph.outputs[i].axes), definition.AliasOfOutput(i)});
  }
  if (const std::string text = SizeProblem(*problem); !text.empty()) return BindError(*problem, text);
  problem->flops = formula::CountFlops(graph);
  problem->bytes = CompulsoryBytes(*problem);
  for (const formula::Node& node : graph.nodes) {
    if (node.kind == formula::Kind::kGather) problem->bytes -= BytesOfTable(*problem, graph.At(node.args[0]));
  }
  return problem;
}

// Axes that are attributes have the extents of the operands that have them.
Result<AttrList> FormulaOperator::InferAttrs(const std::vector<Operand>& operands, AttrList given) const {
  const Definition definition = Definition::ForSchema(name_, author_, given);
  const Graph& graph = definition.graph();
  for (const formula::InputInfo& input : graph.inputs) {
    const Operand* operand = FindOperand(operands, input.name);
    if (operand == nullptr) continue;  // may_lack
    if (operand->shape.size() != input.axes.size()) {
      return RefuseAxes(name_, graph, input, operand->shape, schema_.Find("per") != nullptr);
    }
    for (size_t i = 0; i < input.axes.size(); ++i) {
      if (Status status = InferAttr(definition, schema_, input, i, operand->shape[i], given); !status) {
        return tl::unexpected(status.error());
      }
    }
  }
  // Attributes that the inputs do not determine, such as the number of selected elements, follow from a given output.
  for (const formula::OutputInfo& output : graph.outputs) {
    const Operand* operand = FindOperand(operands, output.name);
    if (operand == nullptr || operand->shape.size() != output.axes.size()) continue;
    for (size_t i = 0; i < output.axes.size(); ++i) {
      const std::string& key = graph.axes[static_cast<size_t>(output.axes[i])].name;
      if (schema_.Find(key) != nullptr) SetIfAbsent(given, key, std::to_string(operand->shape[i]));
    }
  }
  return Operator::InferAttrs(operands, std::move(given));
}

// Along the lanes an output's slices depend on the same slices of the inputs alone.
std::vector<SliceAxes> FormulaOperator::Slices(const Problem& problem, size_t output) const {
  const Definition definition = DefinitionOf(problem, output);
  const Graph& graph = definition.graph();
  const formula::OutputInfo& info = graph.outputs[0];
  const formula::BlockPlan plan(graph, info);
  std::vector<SliceAxes> slices;
  for (const int axis : info.axes) {
    if (plan.InnerOf(formula::SetOf(axis)) != 0) continue;
    SliceAxes one{.inputs = {}, .output = PositionOf(info.axes, axis), .extent = graph.Extent(axis)};
    for (const formula::InputInfo& input : graph.inputs) one.inputs.push_back(PositionOf(input.axes, axis));
    slices.push_back(std::move(one));
  }
  return Several(std::move(slices));
}

std::vector<Relation> FormulaOperator::Relations(const Problem& problem, size_t output) const {
  const Definition definition = DefinitionOf(problem, output);
  const Graph& graph = definition.graph();
  std::vector<Relation> relations;
  for (const SliceAxes& axes : Slices(problem, output)) {
    const std::string& key =
        graph.axes[static_cast<size_t>(graph.outputs[0].axes[static_cast<size_t>(axes.output)])].name;
    const bool first = relations.empty();
    if (axes.extent > 1) {
      relations.push_back(Reversed(first ? "position" : "position_" + key, Claim::kBatchInvariant, axes));
    }
    if (schema_.Find(key) == nullptr || !first) continue;
    Append(relations, Prefixes(*this, problem, "batch", axes, [&](int64_t extent) {
             return AttrList{{key, std::to_string(extent)}};
           }));
  }
  if (std::optional<Relation> negation = NegationOf(graph)) relations.push_back(*std::move(negation));
  if (std::optional<Relation> scale = ScaleOf(*this, problem, output)) relations.push_back(*std::move(scale));
  return relations;
}

}  // namespace assay
