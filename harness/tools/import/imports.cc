// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/imports.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ops/definition_file.h"

namespace assay {
namespace {

constexpr size_t kMostWord = 40;  // of a foreign word that is repeated in a summary

// A word of a suite line that ends no line early and is no "key=value".
std::string TagOf(std::string_view name) {
  constexpr std::string_view kOthers = "_-.:/*+@,()";
  std::string tag;
  for (const char c : name.substr(0, 120)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    tag += plain || kOthers.find(c) != std::string_view::npos ? c : '_';
  }
  return tag == "none" ? "" : tag;
}

// Operators say behind ';' what they take; cases with one fault then have one reason.
std::string WithoutAdvice(const std::string& message) {
  return message.substr(0, message.find(';'));
}

// Operands too large for a machine are fine, for an integer they are not.
Status CheckElements(const Shape& shape) {
  constexpr int64_t kMost = int64_t{1} << 48;
  int64_t product = 1;
  for (const int64_t extent : shape) {
    if (extent < 0) return UsageError("an extent is not from 0 to 2^31");
    if (extent > kMost / product) return UsageError("there are more than 2^48 elements");
    product *= std::max<int64_t>(1, extent);
  }
  return {};
}

// Whether these are the operands, in any order, and puts them into theirs.
bool AreOperands(std::vector<NamedTensor>& tensors, const std::vector<Operand>& operands) {
  if (tensors.size() != operands.size()) return false;
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto at = std::ranges::find(tensors, operands[i].name, &NamedTensor::name);
    if (at == tensors.end()) return false;
    std::swap(*at, tensors[i]);
    const Tensor& tensor = tensors[i].tensor;
    if (tensor.dtype() != operands[i].dtype || tensor.shape() != operands[i].shape) return false;
  }
  return true;
}

}  // namespace

Result<ImportedCase> Imports::Bind(const ForeignCase& from, CaseSpec spec, std::string_view label) const {
  const OpSchema* schema = ops_.find(spec.op);
  if (schema == nullptr) return UnknownOperator(spec.op, ops_);
  auto canonical = Canonicalise(std::move(spec), *schema);
  if (!canonical) return UsageError(WithoutAdvice(canonical.error().message));
  auto bound = ops_.bind(*canonical);
  if (!bound) return UsageError(WithoutAdvice(bound.error().message));
  for (const auto* operands : {&(*bound)->problem.inputs, &(*bound)->problem.outputs}) {
    for (const Operand& operand : *operands) {
      if (auto elements = CheckElements(operand.shape); !elements) return tl::unexpected(elements.error());
    }
  }
  return ImportedCase{*std::move(canonical), TagOf(label), from.where, *std::move(bound)};
}

std::string Imports::Add(const ForeignCase& from, CaseSpec spec, std::string_view label) {
  auto imported = Bind(from, std::move(spec), label);
  if (!imported) {
    Refuse(from, imported.error().message);
    return imported.error().message;
  }
  ++mapped_;
  const bool is_new = index_of_id_.try_emplace(imported->spec.Id(), cases_.size()).second;
  if (is_new) cases_.push_back(*std::move(imported));
  return "";
}

void Imports::AddWithTensors(const ForeignCase& from, CaseSpec spec, std::string_view label, ForeignTensors tensors) {
  auto imported = Bind(from, std::move(spec), label);
  if (!imported) return Refuse(from, imported.error().message);
  const Problem& problem = imported->bound->problem;
  if (!AreOperands(tensors.inputs, problem.inputs) || !AreOperands(tensors.outputs, problem.outputs)) {
    return Refuse(from, "tensors of other types or shapes than the operands");
  }
  std::vector<Tensor> inputs;
  for (const NamedTensor& one : tensors.inputs) inputs.push_back(one.tensor.Clone());
  if (auto valid = imported->bound->op->CheckInputs(problem, inputs); !valid) {
    return Refuse(from, WithoutAdvice(valid.error().message));
  }
  imported->tensors = std::move(tensors);
  ++mapped_;
  cases_.push_back(*std::move(imported));
}

void Imports::PassOver(std::string_view option, bool known) {
  ++(known ? passed_over_ : unknown_)[std::string(option.substr(0, kMostWord))];
}

void Imports::Refuse(const ForeignCase& from, const std::string& reason) {
  CountRefused(reason, 1);
  if (callback_) callback_({from, reason});
}

void Imports::CountRefused(const std::string& reason, size_t count) {
  constexpr size_t kMostReason = 200;
  unmapped_ += count;
  count_of_reason_[reason.substr(0, kMostReason)] += count;
}

std::vector<std::pair<std::string, size_t>> Imports::Reasons() const {
  std::vector<std::pair<std::string, size_t>> reasons(count_of_reason_.begin(), count_of_reason_.end());
  std::ranges::sort(reasons, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return reasons;
}

std::string ImportedDefinitions(const Imports& imports) {
  std::set<std::string> ops;
  std::vector<std::string> definitions;
  for (const ImportedCase& one : imports.cases()) {
    std::string definition = FindDefinition(one.spec.op);
    if (!definition.empty() && ops.insert(one.spec.op).second) definitions.push_back(std::move(definition));
  }
  return definitions.empty() ? "" : JoinDefinitions(definitions) + "\n";
}

std::string ImportedSuite(const Imports& imports, std::string_view title) {
  std::string text = fmt::format("# {}\n", title);
  std::string label;
  for (const ImportedCase& one : imports.cases()) {
    if (one.label != label) text += fmt::format("tag {}\n", one.label.empty() ? "none" : one.label);
    label = one.label;
    text += fmt::format("{} dtypes={}", one.spec.op, DTypeListText(one.spec.dtypes));
    for (const auto& [key, value] : one.spec.attrs) text += fmt::format(" {}={}", key, value);
    if (one.spec.fill != "normal") text += " fill=" + one.spec.fill;
    text += "\n";
  }
  return text;
}

std::string ImportSummary(const Imports& imports) {
  constexpr size_t kReasons = 40;
  std::string text = fmt::format("{} mapped, which are {} different cases; {} not mapped\n", imports.mapped(),
                                 imports.cases().size(), imports.unmapped());
  if (imports.replaced_types() > 0) {
    text += fmt::format("{:>8}  of the mapped ones have other types than theirs (--near-types)\n",
                        imports.replaced_types());
  }
  const auto reasons = imports.Reasons();
  for (size_t i = 0; i < std::min(reasons.size(), kReasons); ++i) {
    text += fmt::format("{:>8}  {}\n", reasons[i].second, reasons[i].first);
  }
  if (reasons.size() > kReasons) {
    size_t others = 0;
    for (size_t i = kReasons; i < reasons.size(); ++i) others += reasons[i].second;
    text += fmt::format("{:>8}  {} further reasons: --verbose lists each case\n", others, reasons.size() - kReasons);
  }
  for (const bool known : {true, false}) {
    const auto& options = imports.passed_over(known);
    if (options.empty()) continue;
    text +=
        known ? "passed over, as they change nothing that is computed:" : "passed over, as they are not known here:";
    for (const auto& [option, count] : options) text += fmt::format(" {} ({})", option, count);
    text += "\n";
  }
  return text;
}

}  // namespace assay
