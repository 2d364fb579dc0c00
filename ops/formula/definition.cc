// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/definition.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/base/text.h"
#include "ops/formula/formula_error.h"

namespace assay::formula {
namespace {

constexpr int64_t kSchemaExtent = 2;

// The smallest and the largest number that a type has.
struct Limits {
  double low, high;
};

Limits RangeOf(DType type) {
  if (IsFloat(type)) return {-FormatOf(type).max_finite, FormatOf(type).max_finite};
  const IntegerLimits limits = LimitsOf(type);
  return {static_cast<double>(limits.low), static_cast<double>(limits.high)};
}

template <class Map>
const typename Map::mapped_type& Find(const Map& map, std::string_view key) {
  const auto it = map.find(key);
  Require(it != map.end(),
          "attribute {}: a case asks for it, but the schema does not. Ask for all attributes whatever the extents",
          key);
  return it->second;
}

// Integers that operands of places may hold, for people.
std::string TextOf(PlaceKind kind, const std::string& axis) {
  switch (kind) {
    case PlaceKind::kIndices:
      return fmt::format("integers in [0, {})", axis);
    case PlaceKind::kLengths:
      return fmt::format("integers in [0, {}]", axis);
    default:
      return fmt::format("ascending integers in [0, {0}], the last {0}", axis);
  }
}

// Names and keys stand in case ids, on command lines, in names of files and of arguments in Python.
void RequireWord(std::string_view what, std::string_view name, std::string_view besides = "") {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto fits = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || besides.find(c) < besides.size(); };
  const bool starts_well = !name.empty() && (is_letter(name[0]) || !besides.empty());
  Require(starts_well && std::ranges::all_of(name, fits), "{} '{}': write it with letters, digits and _ alone{}", what,
          name, besides.empty() ? ", a letter first" : fmt::format(", or one of {}", besides));
}

}  // namespace

Definition::Definition(std::string_view op, const AttrValues* values)
    : op_(op), values_(values), graph_(std::make_unique<Graph>()) {}

// Whatever the author gets wrong, the message names the operator.
Definition Definition::Run(Definition definition, const Author& author) try {
  author(definition);
  definition.RequireWhole();
  return definition;
} catch (const FormulaError& error) {
  throw FormulaError(fmt::format("operator {}: {}", definition.op_, error.what()));
}

Definition Definition::ForSchema(std::string_view op, const Author& author, const AttrList& given) {
  Definition definition(op, nullptr);
  definition.given_ = given;
  return Run(std::move(definition), author);
}

Definition Definition::ForCase(std::string_view op, const Author& author, const AttrValues& values) {
  Definition definition = Run(Definition(op, &values), author);
  definition.values_ = nullptr;
  return definition;
}

// Checks that the definition is complete. The author of an invalid case may return early.
void Definition::RequireWhole() const {
  const bool is_schema = values_ == nullptr;
  if (!is_schema && !refusal_.empty()) return;
  Require(!doc_.empty(), "has no doc; say with d.SetDoc what it computes, as a formula");
  Require(!graph_->inputs.empty(), "has no input; state at least one with d.In");
  Require(!graph_->outputs.empty(), "has no output{}; state the first one with d.Out",
          is_schema && !refusal_.empty() ? " where all extents are 2, as in its schema, as it returns first" : "");
  if (is_schema) RequireTypes();
}

void Definition::RequireTypes() const {
  size_t listed = graph_->inputs.size() + 1;  // and the first output
  Require(!types_.empty(), "has no types; name some in d.SetTypes, or leave that call out");
  for (const std::string& text : types_) {
    const auto types = ParseDTypeList(text);
    Require(types.has_value(), "d.SetTypes has '{}': {}", text, types ? "" : types.error().message);
    Require(std::ranges::count(types_, text) == 1, "d.SetTypes has '{}' twice; name it once", text);
    const bool fits =
        types->size() == 1 || types->size() == listed || (!may_lack_.empty() && types->size() == listed - 1);
    for (size_t i = 0; i < graph_->inputs.size() && types->size() > 0; ++i) {
      const InputInfo& input = graph_->inputs[i];
      const DType type = (*types)[types->size() == 1 ? 0 : std::min(i, types->size() - 1)];
      Require(input.places_along < 0 || IsInt(type), "d.SetTypes has '{}': {} are places, which are integers, as i64",
              text, input.name);
    }
    Require(fits, "d.SetTypes has '{}', of {} types; name one for all operands, or {}: of the inputs, then of {}", text,
            types->size(), listed, graph_->outputs[0].name);
  }
}

void Definition::AddAttr(AttrDef def) {
  RequireWord("attribute", def.key);
  const bool is_reserved = def.key == "dtypes" || def.key == "fill" || def.key == "seed";
  Require(!is_reserved, "attribute {}: every case has one of this name; take another name", def.key);
  Require(std::ranges::find(attrs_, def.key, &AttrDef::key) == attrs_.end(),
          "attribute {} is stated twice; give one of them another name", def.key);
  Require(!def.doc.empty(), "attribute {} has no doc; say what it is", def.key);
  attrs_.push_back(std::move(def));
}

// Names are those of files of tensors too.
void Definition::RequireNewName(std::string_view what, std::string_view name) const {
  RequireWord(what, name);
  const bool is_new = std::ranges::find(graph_->inputs, name, &InputInfo::name) == graph_->inputs.end() &&
                      std::ranges::find(graph_->outputs, name, &OutputInfo::name) == graph_->outputs.end() &&
                      std::ranges::find(optional_outputs_, name, &OperandDoc::name) == optional_outputs_.end();
  Require(is_new, "{} {}: another operand has this name; give each its own", what, name);
}

Axis Definition::Axis(std::string_view key, std::string_view doc, int64_t least) {
  AddAttr({.key = std::string(key), .type = AttrType::kInt, .default_value = "", .doc = std::string(doc)});
  const int64_t extent = values_ == nullptr ? std::max(kSchemaExtent, least) : Find(values_->integers, key);
  if (extent < least) RefuseIf(true, fmt::format("{}={} must be at least {}", key, extent, least));
  return AddAxis(*graph_, std::string(key), std::max(extent, least));
}

Axis Definition::DerivedAxis(std::string_view text, const formula::Axis& of, int64_t times, int64_t over) {
  Require(times > 0 && over > 0, "axis {}: is {}/{} of another one; both numbers must be positive", text, times, over);
  const formula::Axis axis =
      AddAxis(*graph_, std::string(text), std::max<int64_t>(times * of.extent / over, std::min<int64_t>(of.extent, 1)));
  derived_.push_back({axis.id, of.id, times, over});
  return axis;
}

Axis Definition::FixedAxis(std::string_view text, int64_t extent) {
  return AddAxis(*graph_, std::string(text), extent);
}

const Definition::Derived* Definition::FindDerived(int axis) const {
  const auto found = std::ranges::find(derived_, axis, &Derived::axis);
  return found == derived_.end() ? nullptr : &*found;
}

template <class T>
T Definition::Number(AttrType type, std::map<std::string, T, std::less<>> AttrValues::*of_case, std::string_view key,
                     std::string_view default_value, std::string_view doc) {
  AddAttr(
      {.key = std::string(key), .type = type, .default_value = std::string(default_value), .doc = std::string(doc)});
  const std::optional<T> value = default_value.empty() ? T{0} : ParseNumber<T>(default_value);
  Require(value.has_value(),
          "attribute {}: its default '{}' is no number; write one, or \"\" where cases have to say it", key,
          default_value);
  return values_ == nullptr ? *value : Find(values_->*of_case, key);
}

double Definition::Real(std::string_view key, std::string_view default_value, std::string_view doc) {
  return Number(AttrType::kFloat, &AttrValues::reals, key, default_value, doc);
}

int64_t Definition::Integer(std::string_view key, std::string_view default_value, std::string_view doc,
                            std::vector<std::string> choices) {
  const int64_t value = Number(AttrType::kInt, &AttrValues::integers, key, default_value, doc);
  attrs_.back().choices = std::move(choices);
  return value;
}

std::string Definition::Choice(std::string_view key, std::vector<std::string> choices, std::string_view doc) {
  Require(!choices.empty(), "attribute {}: has no choices; name some, the default first", key);
  for (const std::string& choice : choices) RequireWord(fmt::format("attribute {}: choice", key), choice, "+-.");
  const std::string first = choices.front();
  AddAttr({.key = std::string(key),
           .type = AttrType::kName,
           .default_value = first,
           .doc = std::string(doc),
           .choices = std::move(choices)});
  if (values_ != nullptr) return Find(values_->names, key);
  for (const auto& [name, value] : given_) {
    if (name == key && std::ranges::find(attrs_.back().choices, value) != attrs_.back().choices.end()) return value;
  }
  return first;
}

Expr Definition::In(std::string_view name, const Axes& axes, Role role) {
  RequireNewName("input", name);
  roles_.push_back(role);
  const Expr input = AddInput(*graph_, std::string(name), axes);
  // Which types it has is known of a case alone.
  const bool is_listed = values_ != nullptr && !values_->types.empty();
  const DType type = is_listed ? TypeOf(roles_.size() - 1) : DType::kI64;
  if (IsInt(type)) graph_->nodes[static_cast<size_t>(input.id)].numbers = Numbers::kInteger;
  return input;
}

std::optional<Expr> Definition::InIfListed(std::string_view name, const Axes& axes, Role role) {
  Require(may_lack_.empty(), "input {}: {} may be absent already, and a list of types can leave out one operand", name,
          may_lack_);
  may_lack_ = name;
  if (values_ != nullptr && values_->lacks_operand) return std::nullopt;
  return In(name, axes, role);
}

Expr Definition::InPlaces(std::string_view name, const Axes& axes, const formula::Axis& along, PlaceKind kind) {
  RequireNewName("input", name);
  roles_.push_back(Role::kPlaces);
  return AddPlaces(*graph_, std::string(name), axes, along, kind);
}

void Definition::Schedule(Algorithm algorithm, const std::function<void()>& state) {
  const bool is_known = std::ranges::find(schedules_, algorithm) != schedules_.end();
  Require(is_known == (algorithm == Algorithm::kDirect),
          "schedule {}: is not the first one, or stated twice; state kDirect first, and each of the others once",
          AlgorithmName(algorithm));
  if (!is_known) schedules_.push_back(algorithm);
  if (algorithm == (values_ == nullptr ? Algorithm::kDirect : values_->schedule)) state();
}

Flag Definition::Flag(std::string_view key, std::string_view doc) {
  const int64_t value = Integer(key, "0", doc);
  attrs_.back().choices = {"0", "1"};
  if (value != 0 && value != 1) RefuseIf(true, fmt::format("{}={} must be 0 or 1", key, value));
  return {std::string(key), value == 1};
}

void Definition::AddOutputOf(std::string_view name, Expr value, const Axes& axes, OutputType type) {
  RequireNewName("output", name);
  Require(type.kind == OutputType::Kind::kListed || !graph_->outputs.empty(),
          "output {}: the first output is one of d.Out or d.OutSaturated, whose type is in the list; state that first",
          name);
  AddOutput(*graph_, std::string(name), value, axes);
  output_types_.push_back(type);
}

void Definition::Out(std::string_view name, Expr value, const Axes& axes) {
  Require(graph_->outputs.empty(),
          "output {}: d.Out states the first output; state others with d.OutLike, d.OutInPlace, "
          "d.OutIf or d.OutPlaces",
          name);
  AddOutputOf(name, value, axes, {});
}

// Rounding is monotone and leaves the limits as they are: cut off before it or behind it is the same.
void Definition::OutSaturated(std::string_view name, Expr value, const Axes& axes) {
  const Limits limits = RangeOf(TypeOfResult());
  Out(name, Maximum(Minimum(value, Const(*graph_, limits.high)), Const(*graph_, limits.low)), axes);
  saturates_ = true;
}

DType Definition::TypeOfResult() const {
  return values_ == nullptr || values_->types.empty() ? DType::kF32 : values_->types.back();
}

DType Definition::TypeOf(size_t operand) const {
  if (values_ == nullptr || values_->types.empty()) return DType::kF32;
  return values_->types[std::min(operand, values_->types.size() - 1)];
}

void Definition::OutLike(std::string_view name, Expr value, const Axes& axes, std::string_view input) {
  AddOutputOf(name, value, axes, {OutputType::Kind::kLike, InputNumber(input)});
}

void Definition::OutInPlace(std::string_view name, Expr value, std::string_view input) {
  const size_t number = InputNumber(input);
  Axes axes;
  for (const int axis : graph_->inputs[number].axes) axes.list.push_back({axis, graph_->Extent(axis)});
  AddOutputOf(name, value, axes, {.kind = OutputType::Kind::kLike, .input = number, .in_place = true});
}

void Definition::OutIf(const formula::Flag& flag, std::string_view name, Expr value, const Axes& axes) {
  if (!flag.on) {
    RequireNewName("output", name);
    RequireOutput(*graph_, name, value, axes);
    Require(!graph_->outputs.empty(), "output {}: the first output is there whatever a flag says; state it before",
            name);
  }
  if (values_ == nullptr) {
    std::vector<int> ids;
    for (const formula::Axis axis : axes.list) ids.push_back(axis.id);
    optional_outputs_.push_back({std::string(name), LayoutText(ids), fmt::format("only with {}=1", flag.key)});
  }
  if (flag.on) AddOutputOf(name, value, axes, {OutputType::Kind::kWide});
}

void Definition::OutPlaces(std::string_view name, Expr places, const Axes& axes) {
  Require(places.graph != nullptr && places.node().places, "output {}: d.OutPlaces takes the places of a TopK", name);
  OutOfType(name, places, axes, DType::kI64);
}

void Definition::OutOfType(std::string_view name, Expr value, const Axes& axes, DType type) {
  AddOutputOf(name, value, axes, {OutputType::Kind::kStated, 0, type});
}

size_t Definition::InputNumber(std::string_view name) const {
  const auto found = std::ranges::find(graph_->inputs, name, &InputInfo::name);
  Require(found != graph_->inputs.end(), "an output is to be like {}, which is no input; name one", name);
  return static_cast<size_t>(found - graph_->inputs.begin());
}

DType Definition::TypeOfOutput(size_t output, const std::vector<DType>& listed) const {
  const OutputType& type = output_types_[output];
  switch (type.kind) {
    case OutputType::Kind::kListed:
      return listed.back();
    case OutputType::Kind::kLike:
      return listed[type.input];
    case OutputType::Kind::kStated:
      return type.type;
    case OutputType::Kind::kWide:
      break;
  }
  return std::ranges::find(listed, DType::kF64) == listed.end() ? DType::kF32 : DType::kF64;
}

uint32_t Definition::AliasOfOutput(size_t output) const {
  const OutputType& type = output_types_[output];
  return type.in_place ? static_cast<uint32_t>(type.input) + 1 : 0;
}

void Definition::KeepOutput(size_t output) {
  *graph_ = formula::KeepOutput(std::move(*graph_), output);
  output_types_ = {output_types_[output]};
}

bool Definition::Change(const GraphChange& change) {
  std::optional<Graph> changed = ChangeGraph(*graph_, change);
  if (!changed) return false;
  *graph_ = changed->outputs.size() == 1 ? formula::KeepOutput(*std::move(changed), 0) : *std::move(changed);
  return true;
}

bool Definition::RefuseIf(bool bad, std::string_view why) {
  Require(!why.empty(), "d.RefuseIf has no reason; say why such cases make no sense");
  if (bad && refusal_.empty()) refusal_ = why;
  return bad;
}

std::string Definition::LayoutText(const std::vector<int>& axes) const {
  std::string text = "[";
  for (const int axis : axes) text += (text.size() > 1 ? "," : "") + graph_->axes[static_cast<size_t>(axis)].name;
  return text + "]";
}

OpSchema Definition::Schema() const {
  OpSchema schema{.op = op_, .doc = doc_, .attrs = attrs_, .operands = {}, .may_lack = may_lack_};
  for (const InputInfo& input : graph_->inputs) {
    schema.operands.push_back(input.name);
    const bool is_place = input.places_along >= 0;
    const std::string doc = is_place ? TextOf(input.places, graph_->axes[static_cast<size_t>(input.places_along)].name)
                            : input.name == may_lack_ ? "may be absent"
                                                      : "";
    schema.layouts.push_back({input.name, LayoutText(input.axes), doc});
  }
  for (size_t i = 0; i < graph_->outputs.size(); ++i) {
    const OutputInfo& output = graph_->outputs[i];
    const OutputType& type = output_types_[i];
    if (type.kind == OutputType::Kind::kListed) schema.operands.push_back(output.name);
    const std::string& like = graph_->inputs[type.input].name;
    const std::string doc = type.in_place                            ? "in the place of " + like
                            : type.kind == OutputType::Kind::kLike   ? "of the type of " + like
                            : type.kind == OutputType::Kind::kStated ? std::string(Name(type.type))
                                                                     : "";
    schema.layouts.push_back({output.name, LayoutText(output.axes), doc});
    schema.outputs.push_back(output.name);
  }
  for (const OperandDoc& output : optional_outputs_) {
    schema.layouts.push_back(output);
    schema.outputs.push_back(output.name);
  }
  return schema;
}

}  // namespace assay::formula
