// SPDX-License-Identifier: Apache-2.0
#include "ops/definition_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/core/base/identifier.h"
#include "harness/core/base/json_fields.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/text.h"
#include "harness/core/data/dtype.h"
#include "ops/definition_step.h"
#include "ops/formula/formula_error.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using formula::Definition;
using formula::Expr;
using formula::Require;
using formula::Role;
using formula::Step;

constexpr const char* kVersionKey = "assay_definitions";
constexpr int64_t kVersion = 1;
constexpr size_t kMostNodes = 10'000;
constexpr int64_t kMostTimes = 1024, kMostExtent = 1 << 20;
constexpr size_t kMostName = 100;
constexpr int64_t kVaries = std::numeric_limits<int64_t>::min();  // an extent that a case says

struct AxisText {
  std::string name, doc, of;  // `of`: the axis whose extent times `times` is this one's; "": an attribute of its own
  int64_t times = 1, extent = kVaries;  // `extent`: of all cases
  int64_t at_least = 0;                 // cases with fewer elements are refused
};
struct AttrText {
  std::string name, kind, default_value, doc;
  bool positive = false;
};
struct InputText {
  std::string name, role, along;  // `along`: the axis of places, lengths and ends
  std::vector<std::string> axes;
};
struct OutputText {
  std::string name, value;
  std::vector<std::string> axes;
  std::string type;  // of all but the first; "": that of the first input
  bool saturates = false;
};
struct OperatorText {
  std::string op, doc;
  std::vector<std::string> types;
  std::vector<AxisText> axes;
  std::vector<AttrText> attributes;
  std::vector<InputText> inputs;
  std::vector<Step> nodes;
  std::vector<OutputText> outputs;
};

const std::map<std::string, Role, std::less<>>& Roles() {
  static const std::map<std::string, Role, std::less<>> roles = {
      {"data", Role::kData},           {"weight", Role::kWeight},     {"positive", Role::kPositive},
      {"base", Role::kBase},           {"exponent", Role::kExponent}, {"table", Role::kTable},
      {"offset", Role::kOffset},       {"zero", Role::kZero},         {"scale", Role::kScale},
      {"condition", Role::kCondition},
  };
  return roles;
}

const std::map<std::string, formula::PlaceKind, std::less<>>& PlaceRoles() {
  static const std::map<std::string, formula::PlaceKind, std::less<>> roles = {
      {"places", formula::PlaceKind::kIndices},
      {"lengths", formula::PlaceKind::kLengths},
      {"ends", formula::PlaceKind::kEnds},
  };
  return roles;
}

OperatorText ReadOperator(JsonFields& fields) {
  using Absent = JsonFields::Absent;
  OperatorText text;
  // "onnx" has the model that a definition is of, for frameworks that execute it.
  fields.RefuseOthers({"op", "doc", "types", "axes", "attributes", "inputs", "nodes", "outputs", "onnx"});
  fields.Text("onnx", Absent::kIsFine);
  text.op = fields.Text("op");
  text.doc = fields.Text("doc");
  text.types = fields.Texts("types", Absent::kIsFine);
  fields.VisitList("axes", [&](JsonFields& axis) {
    axis.RefuseOthers({"name", "doc", "of", "times", "extent", "at_least"});
    AxisText one{axis.Text("name"), axis.Text("doc", Absent::kIsFine), axis.Text("of", Absent::kIsFine)};
    if (!one.of.empty()) one.times = axis.Integer("times");
    one.extent = axis.Integer("extent", kVaries);
    one.at_least = axis.Integer("at_least", 0);
    text.axes.push_back(std::move(one));
  });
  fields.VisitList(
      "attributes",
      [&](JsonFields& attr) {
        attr.RefuseOthers({"name", "kind", "default", "doc", "positive"});
        text.attributes.push_back(
            {attr.Text("name"), attr.Text("kind"), attr.Text("default"), attr.Text("doc"), attr.Flag("positive")});
      },
      Absent::kIsFine);
  fields.VisitList("inputs", [&](JsonFields& input) {
    input.RefuseOthers({"name", "role", "along", "axes"});
    text.inputs.push_back({input.Text("name"), input.Text("role", Absent::kIsFine),
                           input.Text("along", Absent::kIsFine), input.Texts("axes")});
  });
  fields.VisitList("nodes", [&](JsonFields& node) {
    node.RefuseOthers(
        {"name", "f", "of", "axes", "type", "start", "stride", "strides", "divisor", "to", "places", "ties"});
    text.nodes.push_back({.name = node.Text("name"),
                          .function = node.Text("f"),
                          .of = node.Texts("of"),
                          .axes = node.Texts("axes", Absent::kIsFine),
                          .type = node.Text("type", Absent::kIsFine),
                          .start = node.Texts("start", Absent::kIsFine),
                          .stride = node.Integer("stride", 1),
                          .strides = node.Texts("strides", Absent::kIsFine),
                          .divisor = node.Text("divisor", Absent::kIsFine),
                          .to = node.Texts("to", Absent::kIsFine),
                          .places = node.Integers("places"),
                          .ties = node.Text("ties", Absent::kIsFine)});
  });
  fields.VisitList("outputs", [&](JsonFields& output) {
    output.RefuseOthers({"name", "is", "axes", "type", "saturates"});
    text.outputs.push_back({output.Text("name"), output.Text("is"), output.Texts("axes"),
                            output.Text("type", Absent::kIsFine), output.Flag("saturates")});
  });
  return text;
}

// Names stand in case ids and in names of files, and docs on terminals.
std::string FindBadText(const OperatorText& text) {
  const bool is_name = text.op.size() <= kMostName && IsIdentifier(text.op);
  if (!is_name)
    return fmt::format("an operator's name has at most {} letters, digits and _, a letter first", kMostName);
  const bool is_clean = std::ranges::none_of(text.doc, [](char c) { return static_cast<unsigned char>(c) < ' '; });
  return is_clean ? "" : fmt::format("the doc of {} has a control character; write one line of text", text.op);
}

// Runs as an author's function does: for the schema, and for each case.
class Author {
 public:
  Author(const OperatorText& text, Definition& d) : text_(text), d_(d) {}

  void Run() {
    d_.SetDoc(text_.doc);
    if (!text_.types.empty()) d_.SetTypes(text_.types);
    for (const AxisText& axis : text_.axes) AddAxis(axis);
    for (const AttrText& attr : text_.attributes) {
      if (IsRefused(attr)) return;  // nodes may be none of its value
    }
    for (const InputText& input : text_.inputs) AddInput(input);
    for (const Step& step : text_.nodes) names_.AddStep(step);
    for (const OutputText& output : text_.outputs) {
      const Expr value = names_.ValueOf(output.value);
      const formula::Axes axes = names_.AxesOf(output.axes);
      const bool is_first = &output == &text_.outputs.front();
      Require(!is_first || output.type.empty(),
              "output {}: the list of types has that of the first output; leave type out", output.name);
      Require(is_first || !output.saturates, "output {}: the first output alone may saturate", output.name);
      if (output.saturates) {
        RequireSaturating(output.name);
        d_.OutSaturated(output.name, value, axes);
      } else if (is_first) {
        d_.Out(output.name, value, axes);
      } else if (output.type.empty()) {
        d_.OutLike(output.name, value, axes, text_.inputs.front().name);
      } else {
        d_.OutOfType(output.name, value, axes, TypeOf(output));
      }
    }
  }

 private:
  static DType TypeOf(const OutputText& output) {
    const auto type = ParseDType(output.type);
    Require(type.has_value(), "output {}: no type '{}'", output.name, output.type);
    return *type;
  }

  void AddAxis(const AxisText& axis) {
    Require(!names_.axes.contains(axis.name), "axis {} is stated twice; give each its own name", axis.name);
    const bool is_fixed = axis.extent != kVaries;
    Require(!is_fixed || (axis.extent >= 0 && axis.extent <= kMostExtent && axis.of.empty()),
            "axis {}: extent is {}; give 0 to {}, and no other axis that it follows from", axis.name, axis.extent,
            kMostExtent);
    Require(axis.at_least == 0 || (!is_fixed && axis.of.empty() && axis.at_least > 0 && axis.at_least <= kMostTimes),
            "axis {}: at_least is {}; give 0 to {}, for an axis whose extent a case says", axis.name, axis.at_least,
            kMostTimes);
    if (is_fixed) {
      names_.axes.emplace(axis.name, d_.FixedAxis(axis.name, axis.extent));
    } else if (axis.of.empty()) {
      names_.axes.emplace(axis.name,
                          d_.Axis(axis.name, axis.doc.empty() ? "extent of an axis" : axis.doc, axis.at_least));
    } else {
      Require(axis.times >= 1 && axis.times <= kMostTimes, "axis {}: times is {}; give 1 to {}", axis.name, axis.times,
              kMostTimes);
      names_.axes.emplace(axis.name, d_.DerivedAxis(axis.name, names_.AxesOf({axis.of}).list[0], axis.times));
    }
  }

  // Integers of 64 bits have ends that doubles do not hold, and floats of 16 bits and more overflow to infinities.
  void RequireSaturating(const std::string& output) const {
    constexpr std::string_view kSaturating[] = {"i8", "u8", "i32", "e4m3", "e5m2"};
    Require(!text_.types.empty(), "output {}: saturates, but no types are stated", output);
    for (const std::string_view types : text_.types) {
      const std::string_view last = types.substr(types.rfind('-') + 1);
      Require(std::ranges::find(kSaturating, last) != std::end(kSaturating),
              "output {}: saturates, but is of {}; i8, u8, i32, e4m3 and e5m2 saturate", output, last);
    }
  }

  // Adds the attribute.
  bool IsRefused(const AttrText& attr) {
    const bool is_real = attr.kind == "real";
    Require(is_real || attr.kind == "integer", "attribute {}: kind is '{}'; give real or integer", attr.name,
            attr.kind);
    const double value = is_real ? d_.Real(attr.name, attr.default_value, attr.doc)
                                 : static_cast<double>(d_.Integer(attr.name, attr.default_value, attr.doc));
    Require(std::isfinite(value), "attribute {}: its default has to be a finite number", attr.name);
    Require(!attr.positive || ParseNumber<double>(attr.default_value).value_or(0) > 0,
            "attribute {}: is positive, but its default is {}", attr.name, attr.default_value);
    names_.AddNumber(attr.name, value);
    return d_.RefuseIf(attr.positive && !(value > 0), attr.name + " must be positive");
  }

  void AddInput(const InputText& input) {
    const formula::Axes axes = names_.AxesOf(input.axes);
    const auto role = Roles().find(input.role.empty() ? "data" : input.role);
    const auto of_places = PlaceRoles().find(input.role);
    const bool has_places = of_places != PlaceRoles().end();
    Require(has_places || role != Roles().end(), "input {}: no role '{}'", input.name, input.role);
    Require(has_places != input.along.empty(),
            "input {}: along is '{}' and the role '{}'; places, lengths and ends are along an axis, and no others",
            input.name, input.along, input.role);
    const Expr value = has_places
                           ? d_.InPlaces(input.name, axes, names_.AxesOf({input.along}).list[0], of_places->second)
                           : d_.In(input.name, axes, role->second);
    names_.graph = value.graph;
    names_.AddValue(input.name, value);
  }

  const OperatorText& text_;
  Definition& d_;
  formula::NamedParts names_;
};

struct WrittenDefinition {
  std::string op;
  std::string text;  // its own part, in one line: what is added twice is one operator
  Definition::Author author;
};

Result<std::vector<WrittenDefinition>> ParseDefinitions(std::string_view text, const std::string& place) {
  const Json json = ParseJson(text);
  JsonFields fields(json, place);
  const int64_t version = fields.Integer(kVersionKey);
  if (fields.problem().empty() && version != kVersion) {
    return UsageError(
        fmt::format("{}: definitions of version {}, and this program reads version {}: write them again "
                    "with its assay define",
                    place, version, kVersion));
  }
  fields.RefuseOthers({kVersionKey, "operators"});
  std::vector<WrittenDefinition> found;
  std::string bad;
  fields.VisitList("operators", [&](JsonFields& one) {
    auto read = std::make_shared<const OperatorText>(ReadOperator(one));
    if (bad.empty()) bad = FindBadText(*read);
    found.push_back({read->op, "", [read](Definition& d) { Author(*read, d).Run(); }});
  });
  if (!fields.problem().empty()) {
    return UsageError(fields.problem() +
                      "; assay define writes such files, and harness/python/DEFINITIONS.md describes them");
  }
  if (!bad.empty()) return UsageError(fmt::format("{}: {}", place, bad));
  if (found.empty()) return UsageError(fmt::format("{}: operators is empty; state one at least", place));
  const Json& operators = json["operators"];
  for (size_t i = 0; i < found.size(); ++i) {
    found[i].text = DumpJson(operators[i]);
    if (operators[i]["nodes"].size() <= kMostNodes) continue;
    return UsageError(
        fmt::format("{}: {} has {} nodes; at most {}", place, found[i].op, operators[i]["nodes"].size(), kMostNodes));
  }
  return found;
}

struct Registered {
  std::mutex mutex;
  std::map<std::string, std::string, std::less<>> texts;  // by name
  std::vector<std::string> places;
};

Registered& RegisteredDefinitions() {
  static Registered registered;
  return registered;
}

}  // namespace

std::string FindDefinition(std::string_view op) {
  Registered& registered = RegisteredDefinitions();
  const std::lock_guard lock(registered.mutex);
  const auto found = registered.texts.find(op);
  return found == registered.texts.end() ? "" : found->second;
}

std::string JoinDefinitions(const std::vector<std::string>& definitions) {
  return fmt::format("{{\"{}\": {}, \"operators\": [{}]}}", kVersionKey, kVersion, fmt::join(definitions, ","));
}

Result<std::vector<std::string>> AddDefinitions(std::string_view text, const std::string& place) {
  Registered& registered = RegisteredDefinitions();
  auto& known = registered.texts;
  const std::lock_guard lock(registered.mutex);
  auto found = ParseDefinitions(text, place);
  if (!found) return tl::unexpected(found.error());
  std::vector<std::string> names;
  std::vector<std::unique_ptr<Operator>> operators;
  std::set<std::string> new_names;
  for (WrittenDefinition& one : *found) {
    names.push_back(one.op);
    const auto before = known.find(one.op);
    if (before != known.end() && before->second == one.text) continue;
    if (OperatorRegistry::Global().Find(one.op) != nullptr || !new_names.insert(one.op).second) {
      return UsageError(fmt::format("{}: there is an operator {} already; give this one another name", place, one.op));
    }
    try {
      operators.push_back(std::make_unique<FormulaOperator>(one.op, std::move(one.author)));
    } catch (const formula::FormulaError& error) {
      return UsageError(fmt::format("{}: {}", place, error.what()));
    }
  }
  for (auto& op : operators) OperatorRegistry::Global().Add(std::move(op));
  for (const WrittenDefinition& one : *found) known[one.op] = one.text;
  if (std::ranges::find(registered.places, place) == registered.places.end()) registered.places.push_back(place);
  return names;
}

std::vector<std::string> DefinitionPlaces() {
  Registered& registered = RegisteredDefinitions();
  const std::lock_guard lock(registered.mutex);
  return registered.places;
}

}  // namespace assay
