// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "harness/base/check.h"

namespace assay::formula {
namespace {

constexpr int64_t kSchemaExtent = 2;

template <class Map>
const typename Map::mapped_type& Find(const Map& map, std::string_view key) {
  const auto it = map.find(key);
  ASSAY_CHECK(it != map.end());
  return it->second;
}

}  // namespace

Definition::Definition(std::string_view op, const AttrValues* values)
    : op_(op), values_(values), graph_(std::make_unique<Graph>()) {}

Definition Definition::ForSchema(std::string_view op, const Author& author) {
  Definition definition(op, nullptr);
  author(definition);
  return definition;
}

Definition Definition::ForCase(std::string_view op, const Author& author, const AttrValues& values) {
  Definition definition(op, &values);
  author(definition);
  definition.values_ = nullptr;
  return definition;
}

void Definition::AddAttr(AttrDef def) {
  for (const AttrDef& other : attrs_) ASSAY_CHECK(other.key != def.key);
  attrs_.push_back(std::move(def));
}

Axis Definition::Axis(std::string_view key, std::string_view doc) {
  AddAttr({.key = std::string(key), .type = AttrType::kInt, .default_value = "", .doc = std::string(doc)});
  const int64_t extent = values_ == nullptr ? kSchemaExtent : Find(values_->integers, key);
  RefuseIf(extent < 1, fmt::format("{}={} must be positive", key, extent));
  return AddAxis(*graph_, std::string(key), std::max<int64_t>(extent, 1));
}

Axis Definition::DerivedAxis(std::string_view text, const formula::Axis& of, int64_t times, int64_t over) {
  const formula::Axis axis = AddAxis(*graph_, std::string(text), std::max<int64_t>(times * of.extent / over, 1));
  derived_.push_back({axis.id, of.id, times, over});
  return axis;
}

const Definition::Derived* Definition::FindDerived(int axis) const {
  const auto found = std::ranges::find(derived_, axis, &Derived::axis);
  return found == derived_.end() ? nullptr : &*found;
}

double Definition::Real(std::string_view key, std::string_view default_value, std::string_view doc) {
  AddAttr({.key = std::string(key),
           .type = AttrType::kFloat,
           .default_value = std::string(default_value),
           .doc = std::string(doc)});
  if (values_ != nullptr) return Find(values_->reals, key);
  double value = 0;
  std::from_chars(default_value.data(), default_value.data() + default_value.size(), value);
  return value;
}

std::string Definition::Choice(std::string_view key, std::vector<std::string> choices, std::string_view doc) {
  const std::string first = choices.front();
  AddAttr({.key = std::string(key),
           .type = AttrType::kName,
           .default_value = first,
           .doc = std::string(doc),
           .choices = std::move(choices)});
  return values_ == nullptr ? first : Find(values_->names, key);
}

Expr Definition::In(std::string_view name, const Axes& axes, Role role) {
  roles_.push_back(role);
  return AddInput(*graph_, std::string(name), axes);
}

void Definition::Out(std::string_view name, Expr value, const Axes& axes) {
  AddOutput(*graph_, std::string(name), value, axes);
}

bool Definition::RefuseIf(bool bad, std::string_view why) {
  if (bad && refusal_.empty()) refusal_ = why;
  return bad;
}

std::string Definition::LayoutText(const std::vector<int>& axes) const {
  std::string text = "[";
  for (const int axis : axes) text += (text.size() > 1 ? "," : "") + graph_->axes[static_cast<size_t>(axis)].name;
  return text + "]";
}

OpSchema Definition::Schema() const {
  OpSchema schema{.op = op_, .doc = doc_, .attrs = attrs_, .operands = {}, .layouts = {}};
  for (const InputInfo& input : graph_->inputs) {
    schema.operands.push_back(input.name);
    schema.layouts.push_back({input.name, LayoutText(input.axes)});
  }
  for (const OutputInfo& output : graph_->outputs) {
    schema.operands.push_back(output.name);
    schema.layouts.push_back({output.name, LayoutText(output.axes)});
  }
  return schema;
}

}  // namespace assay::formula
