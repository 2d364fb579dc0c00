// SPDX-License-Identifier: Apache-2.0
#include "ops/formula_operator/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace assay {
namespace {

constexpr int kTries = 400;            // until an operator counts as one that takes no such case
constexpr uint64_t kDataSeeds = 1000;  // seeds of data are below

using Value = AttrList::value_type;

const std::string* FindValue(const AttrList& list, const std::string& key) {
  const auto found = std::ranges::find(list, key, &Value::first);
  return found == list.end() ? nullptr : &found->second;
}

std::string NextInteger(const std::string& text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::to_string(value + 1);
}

// The case's value of a key; an attribute that its id leaves out has its default.
std::string ValueIn(const Problem& problem, const OpSchema& schema, const std::string& key) {
  if (key == "dtypes") return DTypeListText(problem.spec.dtypes);
  if (key == "fill") return problem.spec.fill;
  return AttrReader(problem.spec, schema).Text(key);
}

}  // namespace

std::vector<const FormulaOperator*> AllFormulas() {
  std::vector<const FormulaOperator*> all;
  for (const Operator* op : OperatorRegistry::Global().All()) {
    if (const auto* formula = dynamic_cast<const FormulaOperator*>(op)) all.push_back(formula);
  }
  return all;
}

std::vector<std::string> ValuesToTry(const AttrDef& def) {
  if (!def.choices.empty()) return def.choices;
  return {def.default_value, def.type == AttrType::kFloat ? "0.5" : NextInteger(def.default_value)};
}

double WorkOf(const formula::Graph& graph) {
  double work = 0;
  for (const formula::Node& node : graph.nodes) {
    formula::AxisSet all = node.axes | node.reduced;
    if (node.from_axis >= 0) all |= formula::SetOf(node.from_axis);
    double terms = 1;  // of many long axes more than an integer holds
    for (; all != 0; all &= all - 1) terms *= static_cast<double>(graph.Extent(std::countr_zero(all)));
    work += terms;
  }
  return work * static_cast<double>(graph.outputs.size());
}

SizeDrawer::SizeDrawer(const FormulaOperator& op, DrawLimits limits, uint64_t seed)
    : op_(&op), limits_(std::move(limits)), random_(seed, HashBytes(op.schema().op.data(), op.schema().op.size())) {
  Knob types{.key = "dtypes", .values = {}};
  for (const std::vector<DType>& row : op.types()) {
    types.values.push_back(DTypeListText(CanonicalDTypes(row, op.schema()).value()));
  }
  knobs_.push_back(std::move(types));
  knobs_.push_back({"fill", limits_.fills});
  for (const AttrDef& attr : op.schema().attrs) {
    const bool is_axis = attr.default_value.empty();
    axes_ += is_axis ? 1 : 0;
    knobs_.push_back({attr.key, is_axis ? std::vector<std::string>() : ValuesToTry(attr)});
  }
}

// Draws an extent, uniform in its logarithm except for long axes.
int64_t SizeDrawer::Extent(bool is_long, bool any) {
  const int64_t least = any ? 1 : is_long ? limits_.long_least : limits_.others_least;
  const int64_t most = any || is_long ? limits_.long_most : limits_.others_most;
  if (is_long && !any) return least + Below(most - least + 1);
  const double low = static_cast<double>(least), ratio = static_cast<double>(most + 1) / low;
  const double extent = std::floor(low * std::pow(ratio, random_.Uniform(drawn_++)));
  return std::clamp<int64_t>(static_cast<int64_t>(extent), least, most);
}

CaseSpec SizeDrawer::Write(const AttrList& given, size_t long_axis, bool any_extents) {
  CaseSpec spec{.op = op_->schema().op, .dtypes = {}, .attrs = {}, .fill = "", .seed = 0};
  size_t axis = 0;
  for (const Knob& knob : knobs_) {
    const std::string* known = FindValue(given, knob.key);
    const bool is_axis = knob.values.empty();
    std::string value = known != nullptr ? *known : "";
    if (is_axis && known == nullptr) value = std::to_string(Extent(axis == long_axis, any_extents));
    if (!is_axis && known == nullptr) value = knob.values[static_cast<size_t>(Below(std::ssize(knob.values)))];
    axis += is_axis ? 1 : 0;
    if (knob.key == "dtypes") {
      spec.dtypes = ParseDTypeList(value).value();
    } else if (knob.key == "fill") {
      spec.fill = std::move(value);
    } else {
      spec.attrs.emplace_back(knob.key, std::move(value));
    }
  }
  spec.seed = static_cast<uint64_t>(Below(kDataSeeds));
  return spec;
}

Result<Problem> SizeDrawer::Draw(const AttrList& given, size_t long_axis) {
  std::string why;
  for (int tried = 0; tried < kTries; ++tried) {
    Result<Problem> problem = op_->Bind(Write(given, long_axis, tried >= kTries / 2));
    if (!problem) {
      why = problem.error().message;
    } else if (const double work = WorkOf(op_->WholeDefinitionOf(*problem).graph()); work > limits_.most_work) {
      why = fmt::format("{} takes {} numbers, more than {}", problem->spec.Id(), work, limits_.most_work);
    } else {
      return problem;
    }
  }
  std::string with;
  for (const auto& [key, value] : given) with += fmt::format(" {}={}", key, value);
  return UsageError(
      fmt::format("{}: none of {} cases that were drawn{}{} is one, the last because: {}. Let the operator "
                  "refuse less, or state its axes so that most extents are possible",
                  op_->schema().op, kTries, with.empty() ? "" : " with", with, why));
}

DrawnSizes SizeDrawer::DrawFew(const std::vector<std::vector<DType>>& types, size_t least) {
  std::vector<Knob> wanted = knobs_;
  wanted[0].values.clear();
  for (const std::vector<DType>& row : types) {
    wanted[0].values.push_back(DTypeListText(CanonicalDTypes(row, op_->schema()).value()));
  }
  const std::vector<std::string> lists = wanted[0].values;
  DrawnSizes drawn;
  // Takes from every knob a value that is still wanted, or from the target alone, and one of `types`.
  const auto given_with = [&](const Knob* target) {
    AttrList given;
    for (const Knob& knob : wanted) {
      if (!knob.values.empty() && (target == nullptr || target == &knob)) given.emplace_back(knob.key, knob.values[0]);
    }
    if (FindValue(given, "dtypes") == nullptr) {
      given.emplace_back("dtypes", lists[static_cast<size_t>(Below(std::ssize(lists)))]);
    }
    return given;
  };
  while (true) {
    const auto target = std::ranges::find_if(wanted, [](const Knob& knob) { return !knob.values.empty(); });
    const bool is_covered = target == wanted.end();
    if (is_covered && drawn.cases.size() >= least) return drawn;
    const size_t long_axis = axes_ == 0 ? 0 : drawn.cases.size() % axes_;
    AttrList given = given_with(nullptr);
    Result<Problem> problem = Draw(given, long_axis);
    // Retries with other lists of types: only some may allow this value.
    for (size_t tried = 0; !problem && !is_covered && tried < 2 * lists.size(); ++tried) {
      given = given_with(&*target);
      problem = Draw(given, long_axis);
    }
    if (!problem) {
      if (is_covered) return drawn;
      drawn.refused.push_back({target->key, target->values[0], problem.error().message});
      target->values.erase(target->values.begin());
      continue;
    }
    for (Knob& knob : wanted) {
      if (knob.values.empty()) continue;
      if (const std::string* value = FindValue(given, knob.key)) std::erase(knob.values, *value);
      std::erase(knob.values, ValueIn(*problem, op_->schema(), knob.key));
    }
    drawn.cases.push_back(*std::move(problem));
  }
}

// Axes that are long in turn leave a rest beside vectors, mostly.
std::vector<CaseSpec> FormulaOperator::FewCases() const {
  const DrawLimits limits{.long_least = 33, .long_most = 80, .others_least = 5, .others_most = 20, .most_work = 4e4};
  std::vector<CaseSpec> few;
  for (Problem& problem : SizeDrawer(*this, limits, 0).DrawFew(types_, 3).cases) {
    few.push_back(std::move(problem.spec));
    few.back().seed = 0;
  }
  return few;
}

}  // namespace assay
