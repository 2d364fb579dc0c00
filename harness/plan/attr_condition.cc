// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/attr_condition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/core/base/text.h"

namespace assay {
namespace {

bool IsList(AttrType type) {
  return type == AttrType::kDims || type == AttrType::kAxes;
}

// The numbers of "3x5", "1+2" or "0.5"; nothing for a word.
std::optional<std::vector<double>> Numbers(AttrType type, std::string_view text) {
  std::vector<double> numbers;
  for (const std::string_view part : Split(text, type == AttrType::kAxes ? '+' : 'x')) {
    const auto number = ParseNumber<double>(part);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

// Entry by entry, where one number stands for a list of that number.
bool SameList(const std::vector<double>& a, const std::vector<double>& b) {
  const size_t entries = std::max(a.size(), b.size());
  if ((a.size() != entries && a.size() != 1) || (b.size() != entries && b.size() != 1)) return false;
  for (size_t i = 0; i < entries; ++i) {
    if (a[a.size() == 1 ? 0 : i] != b[b.size() == 1 ? 0 : i]) return false;
  }
  return true;
}

bool IsEqual(AttrType type, const std::string& text, const std::optional<std::vector<double>>& numbers,
             const std::string& wanted) {
  const auto others = Numbers(type, wanted);
  return numbers && others ? SameList(*numbers, *others) : text == wanted;
}

}  // namespace

std::optional<ComparedWord> SplitAtComparison(std::string_view word) {
  const size_t at = word.find_first_of("<>=!");
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const bool wide = at + 1 < word.size() && word[at + 1] == '=';
  const char sign = word[at];
  if (sign == '!' && !wide) return std::nullopt;
  const Comparison comparison = sign == '!'   ? Comparison::kNotEqual
                                : sign == '=' ? Comparison::kEqual
                                : sign == '<' ? (wide ? Comparison::kAtMost : Comparison::kLess)
                                              : (wide ? Comparison::kAtLeast : Comparison::kGreater);
  return ComparedWord{word.substr(0, at), word.substr(at + (wide ? 2 : 1)), comparison};
}

bool Compare(double left, Comparison comparison, double right) {
  switch (comparison) {
    case Comparison::kEqual:
      return left == right;
    case Comparison::kNotEqual:
      return left != right;
    case Comparison::kLess:
      return left < right;
    case Comparison::kAtMost:
      return left <= right;
    case Comparison::kGreater:
      return left > right;
    case Comparison::kAtLeast:
      return left >= right;
  }
  return false;
}

Result<AttrCondition> ParseAttrCondition(std::string_view word) {
  const auto parts = SplitAtComparison(word);
  if (!parts || parts->right.empty()) {
    return UsageError(fmt::format("'{}' is not a condition; write key=value, c<32, c%2=1 or shape.1>64", word));
  }
  AttrCondition condition{.comparison = parts->comparison};
  std::string_view key = parts->left;
  if (const size_t percent = key.find('%'); percent != std::string_view::npos) {
    const auto divisor = ParseNumber<int64_t>(key.substr(percent + 1));
    if (!divisor || *divisor < 1) return UsageError(fmt::format("'{}': write the remainder as in c%2=1", word));
    condition.divisor = *divisor;
    key = key.substr(0, percent);
  }
  if (const size_t dot = key.find('.'); dot != std::string_view::npos) {
    condition.entry = ParseNumber<size_t>(key.substr(dot + 1));
    if (!condition.entry) return UsageError(fmt::format("'{}': write an entry of a list as in shape.1", word));
    key = key.substr(0, dot);
  }
  condition.key = key;
  for (const std::string_view value : Split(parts->right, '|')) condition.values.emplace_back(value);
  return condition;
}

Status Check(const AttrCondition& condition, const OpSchema& schema) {
  const AttrDef* def = schema.Find(condition.key);
  if (def == nullptr) {
    std::vector<std::string> keys;
    for (const AttrDef& known : schema.attrs) keys.push_back(known.key);
    return UsageError(fmt::format("{} has no key '{}'; it takes {}", schema.op, condition.key, fmt::join(keys, " ")));
  }
  const bool equality = condition.comparison == Comparison::kEqual || condition.comparison == Comparison::kNotEqual;
  if (condition.entry && !IsList(def->type)) {
    return UsageError(fmt::format("{} of {} is not a list and has no entry {}", def->key, schema.op, *condition.entry));
  }
  if (!equality && condition.values.size() > 1) {
    return UsageError(fmt::format("{}: alternatives need =, an order takes one number", def->key));
  }
  const bool of_a_number = !equality || condition.divisor != 0 || condition.entry.has_value();
  if (of_a_number && def->type == AttrType::kName) {
    return UsageError(fmt::format("{} of {} is a name; compare it with = only", def->key, schema.op));
  }
  for (const std::string& value : condition.values) {
    if (!of_a_number) {
      if (auto known = CanonicalValue(*def, value); !known) return tl::unexpected(known.error());
    } else if (!ParseNumber<double>(value)) {
      return UsageError(fmt::format("{}: '{}' is not a number", def->key, value));
    }
  }
  return {};
}

bool Holds(const AttrCondition& condition, const CaseSpec& spec, const OpSchema& schema) {
  const AttrDef& def = *schema.Find(condition.key);
  const std::string text = AttrReader(spec, schema).Text(condition.key);
  auto numbers = Numbers(def.type, text);
  if (condition.entry) {
    if (!numbers || *condition.entry >= numbers->size()) return false;
    numbers = {(*numbers)[*condition.entry]};
  }
  if (condition.divisor != 0) {
    if (!numbers) return false;
    for (double& number : *numbers) number = std::fmod(number, static_cast<double>(condition.divisor));
  }
  const auto equals = [&](const std::string& value) { return IsEqual(def.type, text, numbers, value); };
  if (condition.comparison == Comparison::kEqual) return std::ranges::any_of(condition.values, equals);
  if (condition.comparison == Comparison::kNotEqual) return std::ranges::none_of(condition.values, equals);
  const double limit = ParseNumber<double>(condition.values[0]).value_or(0);
  return numbers && std::ranges::all_of(*numbers, [&](double n) { return Compare(n, condition.comparison, limit); });
}

}  // namespace assay
