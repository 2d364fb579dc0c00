// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/case_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "harness/core/base/amounts.h"
#include "harness/core/base/text.h"
#include "harness/core/data/fill/fill.h"
#include "harness/core/data/tensor.h"

namespace assay {
namespace {

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Operators and keys: a C identifier, so that they can be flags, columns and file names as well.
bool IsName(std::string_view s) {
  return !s.empty() && !(s[0] >= '0' && s[0] <= '9') &&
         std::ranges::all_of(s, [](char c) { return IsLetterOrDigit(c) || c == '_'; });
}

// Values and fills: leaves out whatever ids, suites, filters or shells give a meaning to.
bool IsValue(std::string_view s) {
  return !s.empty() && std::ranges::all_of(s, [](char c) {
    return IsLetterOrDigit(c) || c == '_' || c == '.' || c == '+' || c == '-';
  });
}

std::optional<std::vector<int64_t>> ParseList(std::string_view text, char separator) {
  std::vector<int64_t> values;
  for (std::string_view part : Split(text, separator)) {
    const auto value = ParseNumber<int64_t>(part);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::string_view Accepts(AttrType type) {
  switch (type) {
    case AttrType::kInt:
      return "an integer";
    case AttrType::kFloat:
      return "a finite number";
    case AttrType::kName:
      return "a name";
    case AttrType::kDims:
      return "non-negative integers joined by 'x', such as 3x224x224";
    case AttrType::kAxes:
      return "axes by number, several joined by '+': 1, -1 (the last one) or 0+2";
  }
  return "";
}

// Explains why a text is no number of the type, or is out of the type's range.
std::string WhyNot(AttrType type, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = end == text.data() + text.size();
  if (type == AttrType::kInt && is_number && error == std::errc() && std::abs(value) >= 0x1p63) {
    return "beyond the integers of 64 bits: give one from -2^63 to 2^63 - 1";
  }
  if (type != AttrType::kFloat || !is_number || error != std::errc::result_out_of_range) {
    return fmt::format("not {}", Accepts(type));
  }
  // from_chars leaves the value as it was; strtod says on which side it lies.
  const bool is_small = std::abs(std::strtod(std::string(text).c_str(), nullptr)) < 1;
  return is_small ? "nearer to 0 than any double but 0: give 0, or 5e-324 or more in magnitude"
                  : "larger than any double: give at most 1.79e308 in magnitude";
}

// Digits as they are written back: 4096, not 07 nor -3. Most numbers of cases are, and need no conversion.
bool IsCanonicalCount(std::string_view text) {
  constexpr size_t kSurelyFits = 18;
  return !text.empty() && text.size() <= kSurelyFits && (text[0] != '0' || text.size() == 1) &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::string> CanonicalNumber(AttrType type, std::string_view text) {
  if ((type == AttrType::kInt || type == AttrType::kDims || type == AttrType::kAxes) && IsCanonicalCount(text)) {
    return std::string(text);
  }
  if (type == AttrType::kInt) {
    if (const auto value = ParseNumber<int64_t>(text)) return fmt::to_string(*value);
  } else if (type == AttrType::kFloat) {
    if (const auto value = ParseNumber<double>(text); value && std::isfinite(*value)) return fmt::to_string(*value);
  } else if (type == AttrType::kDims) {
    const auto dims = ParseList(text, 'x');
    if (dims && std::ranges::all_of(*dims, [](int64_t d) { return d >= 0; }))
      return fmt::to_string(fmt::join(*dims, "x"));
  } else if (type == AttrType::kAxes) {
    if (const auto axes = ParseList(text, '+')) return fmt::to_string(fmt::join(*axes, "+"));
  }
  return std::nullopt;
}

using Attrs = std::vector<std::pair<std::string, std::string>>;

const std::string* FindAttr(const Attrs& attrs, std::string_view key) {
  const auto it = std::ranges::find(attrs, key, &std::pair<std::string, std::string>::first);
  return it == attrs.end() ? nullptr : &it->second;
}

// The value of a key with "=other" defaults followed; "" where a required key is absent. `absent`: a key that counts as
// not given.
std::string Resolve(const Attrs& attrs, const OpSchema& schema, std::string_view key, std::string_view absent = "") {
  for (size_t hops = 0; hops <= schema.attrs.size(); ++hops) {
    const std::string* value = key == absent ? nullptr : FindAttr(attrs, key);
    if (value != nullptr) return *value;
    const AttrDef* def = schema.Find(key);
    if (def == nullptr) break;
    if (!def->default_value.starts_with('=')) {
      return CanonicalNumber(def->type, def->default_value).value_or(def->default_value);
    }
    key = std::string_view(def->default_value).substr(1);
  }
  fmt::print(stderr, "assay: schema of {} is broken: no key '{}', or its defaults form a cycle\n", schema.op, key);
  std::abort();
}

// Dims: a single number stands for a list of that number, on either side.
bool IsAtDefault(const AttrDef& def, const std::string& value, const std::string& default_value) {
  if (value == default_value) return true;
  if (def.type != AttrType::kDims) return false;
  const auto repeats = [](const std::string& list, const std::string& number) {
    return std::ranges::all_of(Split(list, 'x'), [&](std::string_view part) { return part == number; });
  };
  return repeats(value, default_value) || repeats(default_value, value);
}

// AttrDef::axes_of: k=3 of i=5x5 becomes k=3x3, stride=2x2 becomes stride=2. A list of another length stays, for the
// operator to refuse.
std::string NormaliseSpelling(const AttrDef& def, const std::string& value, size_t axes) {
  const std::vector<std::string_view> parts = Split(value, 'x');
  if (std::ranges::any_of(parts, [&](std::string_view part) { return part != parts[0]; })) return value;
  if (!def.default_value.empty()) return std::string(parts.size() == axes ? parts[0] : value);
  if (parts.size() != 1) return value;
  return fmt::to_string(fmt::join(std::vector<std::string_view>(axes, parts[0]), "x"));
}

// AttrDef::axes_in: axes=-1+0 of a shape of rank 3 becomes axes=0+2. What is out of range or given twice stays, for the
// operator to refuse.
std::string NormaliseAxes(const std::string& value, int64_t rank) {
  std::vector<int64_t> axes = ParseList(value, '+').value_or(std::vector<int64_t>());
  for (int64_t& axis : axes) {
    if (axis < -rank || axis >= rank) return value;
    if (axis < 0) axis += rank;
  }
  std::ranges::sort(axes);
  if (axes.empty() || std::ranges::adjacent_find(axes) != axes.end()) return value;
  return fmt::to_string(fmt::join(axes, "+"));
}

// The spelling of a value that ids have, given the values of the other keys, `absent` not among them.
std::string Spelled(const AttrDef& def, const std::string& value, const Attrs& attrs, const OpSchema& schema,
                    std::string_view absent = "") {
  const auto length = [&](const std::string& key) { return Split(Resolve(attrs, schema, key, absent), 'x').size(); };
  if (!def.axes_of.empty()) return NormaliseSpelling(def, value, length(def.axes_of));
  if (!def.axes_in.empty()) return NormaliseAxes(value, static_cast<int64_t>(length(def.axes_in)));
  return value;
}

std::string KeyList(const OpSchema& schema) {
  std::string text;
  for (const AttrDef& def : schema.attrs) text += (text.empty() ? "" : " ") + def.key;
  return text;
}

// The attributes in canonical text and declared order, defaults still in place.
Result<Attrs> OrderedAttrs(const Attrs& given, const OpSchema& schema) {
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string& key = given[i].first;
    if (schema.Find(key) == nullptr) {
      return UsageError(fmt::format("{} has no key '{}'; it takes {}", schema.op, key, KeyList(schema)));
    }
    if (std::any_of(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const auto& attr) { return attr.first == key; })) {
      return UsageError(fmt::format("{} has key '{}' twice; give it once", schema.op, key));
    }
  }
  Attrs ordered;
  ordered.reserve(given.size());
  for (const AttrDef& def : schema.attrs) {
    const std::string* text = FindAttr(given, def.key);
    if (text == nullptr && def.default_value.empty()) {
      return UsageError(fmt::format("{} needs {}=, {}", schema.op, def.key, Accepts(def.type)));
    }
    if (text == nullptr) continue;
    Result<std::string> value = CanonicalValue(def, *text);
    if (!value) return UsageError(schema.op + ": " + value.error().message);
    ordered.emplace_back(def.key, *std::move(value));
  }
  auto def = schema.attrs.begin();
  for (auto& [key, value] : ordered) {
    while (def->key != key) ++def;
    value = Spelled(*def, value, ordered, schema);
  }
  return ordered;
}

template <class T>
T Require(std::optional<T> value, const OpSchema& schema, std::string_view key, const std::string& text) {
  if (value) return *std::move(value);
  fmt::print(stderr, "assay: {} asks for {} as a number, but it is '{}'\n", schema.op, key, text);
  std::abort();
}

}  // namespace

const AttrDef* OpSchema::Find(std::string_view key) const {
  const auto it = std::ranges::find(attrs, key, &AttrDef::key);
  return it == attrs.end() ? nullptr : &*it;
}

std::vector<std::string> OpSchema::FindNeededInputs() const {
  std::vector<std::string> needed;
  for (const std::string& name : operands) {
    if (std::ranges::find(outputs, name) == outputs.end() && name != may_lack) needed.push_back(name);
  }
  return needed;
}

bool OpSchema::Lacks(const std::vector<DType>& dtypes) const {
  return !may_lack.empty() && dtypes.size() > 1 && dtypes.size() + 1 == operands.size();
}

std::string CaseSpec::Id() const {
  std::string text;
  for (const auto& [key, value] : attrs) text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  return fmt::format("{}/{}/{}/fill={}/seed={}", op, DTypeListText(dtypes), text.empty() ? "-" : text, fill, seed);
}

std::string CaseSpec::IdHash() const {
  const std::string id = Id();
  return HashHex(HashBytes(id.data(), id.size()));
}

Result<std::string> CanonicalValue(const AttrDef& def, std::string_view text) {
  if (def.type == AttrType::kName) {
    if (std::ranges::find(def.choices, text) != def.choices.end()) return std::string(text);
    return UsageError(fmt::format("{}={} is not one of {}", def.key, text, fmt::join(def.choices, ", ")));
  }
  if (auto value = CanonicalNumber(def.type, text)) return *std::move(value);
  if (!def.default_value.starts_with('=') && !text.empty() && text == def.default_value) return std::string(text);
  return UsageError(fmt::format("{}={} is {}", def.key, text, WhyNot(def.type, text)));
}

Result<std::vector<DType>> CanonicalDTypes(std::vector<DType> dtypes, const OpSchema& schema) {
  const bool fits = dtypes.size() == 1 || dtypes.size() == schema.operands.size() || schema.Lacks(dtypes);
  if (dtypes.empty() || !fits) {
    const std::string without = schema.may_lack.empty() ? "" : fmt::format(", or one less without {}", schema.may_lack);
    return UsageError(fmt::format("{} takes one dtype for all operands, or {} joined by '-' ({}{}); got {}", schema.op,
                                  schema.operands.size(), fmt::join(schema.operands, "-"), without, dtypes.size()));
  }
  if (schema.Lacks(dtypes)) return dtypes;
  if (std::ranges::all_of(dtypes, [&](DType d) { return d == dtypes[0]; })) dtypes.resize(1);
  return dtypes;
}

Result<CaseSpec> Canonicalise(CaseSpec spec, const OpSchema& schema) {
  if (spec.op != schema.op) return UsageError(fmt::format("operator '{}' is not '{}'", spec.op, schema.op));
  Result<std::vector<DType>> dtypes = CanonicalDTypes(std::move(spec.dtypes), schema);
  if (!dtypes) return tl::unexpected(dtypes.error());
  spec.dtypes = *std::move(dtypes);
  Result<Attrs> ordered = OrderedAttrs(spec.attrs, schema);
  if (!ordered) return tl::unexpected(ordered.error());

  // A key is compared with what its default would be if it were absent, in the presence of all other keys.
  spec.attrs.clear();
  auto at = schema.attrs.begin();
  for (auto& [key, value] : *ordered) {
    while (at->key != key) ++at;
    const AttrDef& def = *at;
    if (!def.default_value.empty()) {
      std::string default_value = Resolve(*ordered, schema, key, key);
      // Resolves negative axes for this shape: -1 is another axis of every rank.
      if (!def.axes_in.empty()) default_value = Spelled(def, default_value, *ordered, schema, key);
      if (IsAtDefault(def, value, default_value)) continue;
    }
    spec.attrs.emplace_back(key, value);
  }
  spec.attrs.shrink_to_fit();  // of a million cases
  const Result<FillSpec> fill = ParseFill(spec.fill);
  if (!fill) return tl::unexpected(fill.error());
  spec.fill = FillText(*fill);
  return spec;
}

Result<CaseSpec> ParseId(std::string_view id) {
  const auto fail = [&](std::string_view what) { return UsageError(fmt::format("case id '{}': {}", id, what)); };
  const auto parts = Split(id, '/');
  if (parts.size() != 5) {
    return fail(fmt::format("has {} between '/', expected 5: op/dtypes/key=value,.../fill=NAME/seed=N",
                            Counted(std::ssize(parts), "part")));
  }
  CaseSpec spec;
  if (!IsName(parts[0])) return fail(fmt::format("'{}' is not an operator's name", parts[0]));
  spec.op = parts[0];

  auto dtypes = ParseDTypeList(parts[1]);
  if (!dtypes) return fail(dtypes.error().message);
  spec.dtypes = *std::move(dtypes);

  if (parts[2] != "-") {
    for (std::string_view attr : Split(parts[2], ',')) {
      const size_t equals = attr.find('=');
      if (equals == std::string_view::npos || !IsName(attr.substr(0, equals)) || !IsValue(attr.substr(equals + 1))) {
        return fail(fmt::format("attribute '{}' is not key=value (write '-' for no attributes)", attr));
      }
      spec.attrs.emplace_back(attr.substr(0, equals), attr.substr(equals + 1));
    }
  }
  if (!parts[3].starts_with("fill=") || !IsValue(parts[3].substr(5))) {
    return fail(fmt::format("part 4 is '{}', expected fill=NAME", parts[3]));
  }
  spec.fill = parts[3].substr(5);
  const auto seed = parts[4].starts_with("seed=") ? ParseNumber<uint64_t>(parts[4].substr(5)) : std::nullopt;
  if (!seed) return fail(fmt::format("part 5 is '{}', expected seed=N with N in [0, 2^64)", parts[4]));
  spec.seed = *seed;
  return spec;
}

Result<std::vector<DType>> ParseDTypeList(std::string_view text) {
  std::vector<DType> dtypes;
  for (std::string_view name : Split(text, '-')) {
    const Result<DType> dtype = ParseDType(name);
    if (!dtype) return tl::unexpected(dtype.error());
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

std::string DTypeListText(const std::vector<DType>& dtypes) {
  std::string text;
  for (DType dtype : dtypes) text.append(text.empty() ? "" : "-").append(Name(dtype));
  return text;
}

std::string AttrReader::Text(std::string_view key) const {
  return Resolve(spec_->attrs, *schema_, key);
}

int64_t AttrReader::Int(std::string_view key) const {
  const std::string text = Text(key);
  return Require(ParseNumber<int64_t>(text), *schema_, key, text);
}

double AttrReader::Float(std::string_view key) const {
  const std::string text = Text(key);
  return Require(ParseNumber<double>(text), *schema_, key, text);
}

std::vector<int64_t> AttrReader::List(std::string_view key) const {
  const std::string text = Text(key);
  const AttrDef* def = schema_->Find(key);
  const char separator = def != nullptr && def->type == AttrType::kAxes ? '+' : 'x';
  return Require(ParseList(text, separator), *schema_, key, text);
}

}  // namespace assay
