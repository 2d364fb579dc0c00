// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/base/text.h"
#include "harness/core/model/contract_fields.h"

namespace assay {
namespace {

struct Shortcut {
  std::string_view name, meaning;
};
constexpr Shortcut kShortcuts[] = {
    {"f64", "in=exact;acc=f64;mid=none"}, {"f32", "in=exact;acc=f32;mid=none"}, {"tf32", "in=tf32rn;acc=f32"},
    {"f32acc", "in=exact;acc=f32"},       {"f16acc", "in=exact;acc=f16"},       {"bf16acc", "in=exact;acc=bf16"},
};

// Applies "key=value; shortcut; ..." to `c` and notes in `seen` which fields were given.
Status Apply(std::string_view text, Contract& c, std::vector<bool>& seen) {
  const std::vector<ContractField>& fields = ContractFields();
  while (!Trim(text).empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    const std::string_view item = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (const auto shortcut = std::ranges::find(kShortcuts, item, &Shortcut::name); shortcut != std::end(kShortcuts)) {
      if (Status status = Apply(shortcut->meaning, c, seen); !status) return status;
      continue;
    }
    const size_t equals = std::min(item.find('='), item.size());
    const std::string_view name = Trim(item.substr(0, equals));
    const auto field = std::ranges::find(fields, name, &ContractField::name);
    if (field == fields.end() || equals == item.size()) {
      std::string known;
      for (const ContractField& f : fields) known += fmt::format("{}=, ", f.name);
      for (const Shortcut& s : kShortcuts)
        known += fmt::format("{}{}", s.name, &s == std::end(kShortcuts) - 1 ? "" : " ");
      return UsageError(fmt::format("'{}' is not a field or shortcut of a contract; known: {}", item, known));
    }
    const std::string_view value = Trim(item.substr(equals + 1));
    if (!ParseValue(*field, value, c)) {
      return UsageError(fmt::format("contract field {}={}: expected {}", name, value, KnownValues(*field)));
    }
    const size_t index = static_cast<size_t>(field - fields.begin());
    if (seen[index]) return UsageError(fmt::format("contract field {} is given twice", name));
    seen[index] = true;
  }
  return {};
}

Contract Weakest() {
  Contract c;
  for (const ContractField& field : ContractFields()) SetWeakest(field, c);
  return c;
}

std::string Differences(const Contract& c, const Contract& from, std::string_view always) {
  std::string text;
  for (const ContractField& field : ContractFields()) {
    const std::string value = ValueText(field, c);
    if (field.name != always && value == ValueText(field, from)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : "; ", field.name, value);
  }
  return text;
}

}  // namespace

Result<Contract> ParseDeclaration(std::string_view text) {
  Contract c;
  std::vector<bool> seen(ContractFields().size(), false);
  if (Status status = Apply(text, c, seen); !status) return tl::unexpected(status.error());
  for (size_t i = 0; i < seen.size(); ++i) {
    const ContractField& field = ContractFields()[i];
    if (field.name == "acc" && !seen[i]) {
      return UsageError(fmt::format("contract '{}' does not say acc=, one of {}", text, KnownValues(field)));
    }
  }
  if (c.alg == Algorithm::kAny || std::isinf(c.math_ulp)) {
    return UsageError(
        fmt::format("contract '{}': alg=any and math=any bound nothing, so only a requirement may say them; "
                    "declare the algorithm and its ulp",
                    text));
  }
  return c;
}

Result<Contract> ParseRequirement(std::string_view text) {
  Contract c = Weakest();
  std::vector<bool> seen(ContractFields().size(), false);
  if (Status status = Apply(text, c, seen); !status) return tl::unexpected(status.error());
  return c;
}

Result<Contract> WithFields(Contract contract, std::string_view fields) {
  std::vector<bool> seen(ContractFields().size(), false);
  if (Status status = Apply(fields, contract, seen); !status) return tl::unexpected(status.error());
  return contract;
}

std::string ToText(const Contract& contract) {
  return Differences(contract, Contract{}, "acc");
}

bool Meets(const Contract& declared, const Contract& required) {
  return std::ranges::all_of(ContractFields(),
                             [&](const ContractField& field) { return FieldMeets(field, declared, required); });
}

std::string_view AlgorithmName(Algorithm algorithm) {
  const auto field = std::ranges::find(ContractFields(), "alg", &ContractField::name);
  return std::ranges::find(field->values, static_cast<int>(algorithm), &ContractValue::code)->name;
}

std::string FieldText(const Contract& contract, std::string_view field) {
  const auto found = std::ranges::find(ContractFields(), field, &ContractField::name);
  return found == ContractFields().end() ? std::string() : ValueText(*found, contract);
}

Status CheckField(std::string_view field, std::string_view value) {
  const auto found = std::ranges::find(ContractFields(), field, &ContractField::name);
  if (found == ContractFields().end()) {
    std::string known;
    for (const ContractField& f : ContractFields()) known += fmt::format("{}{}", known.empty() ? "" : ", ", f.name);
    return UsageError(fmt::format("'{}' is not a field of a contract; known: {}", field, known));
  }
  Contract unused;
  const bool named = std::ranges::find(found->values, value, &ContractValue::name) != found->values.end();
  if (named || ParseValue(*found, value, unused)) return {};
  return UsageError(fmt::format("contract field {}={}: expected {}", field, value, KnownValues(*found)));
}

std::string Shortfall(const Contract& declared, const Contract& required) {
  for (const ContractField& field : ContractFields()) {
    if (FieldMeets(field, declared, required)) continue;
    return fmt::format("declares {0}={1} and the case requires {0}={2}", field.name, ValueText(field, declared),
                       ValueText(field, required));
  }
  return "";
}

}  // namespace assay
