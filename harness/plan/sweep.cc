// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/base/text.h"

namespace assay {
namespace {

constexpr size_t kMostSweepValues = 1000;
constexpr int64_t kLargestSweepValue = int64_t{1} << 40;
constexpr const char* kSweepForms = "give KEY=1..256 (doubling), KEY=1..256*4, KEY=64..512+64 or KEY=1,2,5";

struct Step {
  bool adds = false;
  int64_t by = 2;
};

// "256", "256*4", "256+64": the end of a range and its step.
bool ReadEnd(std::string_view text, int64_t& end, Step& step) {
  const size_t at = text.find_first_of("*+");
  if (at != text.npos) {
    const auto by = ParseNumber<int64_t>(text.substr(at + 1));
    step.adds = text[at] == '+';
    if (!by || *by < (step.adds ? 1 : 2) || *by > kLargestSweepValue) return false;
    step.by = *by;
  }
  const auto number = ParseNumber<int64_t>(text.substr(0, at));
  if (!number || *number < 1 || *number > kLargestSweepValue) return false;
  end = *number;
  return true;
}

Status AddSweepValues(std::string_view item, std::vector<std::string>& values) {
  const size_t dots = item.find("..");
  if (dots == item.npos) {
    if (item.empty()) return UsageError(fmt::format("a value is empty; {}", kSweepForms));
    values.emplace_back(item);
    return {};
  }
  const auto begin = ParseNumber<int64_t>(item.substr(0, dots));
  int64_t end = 0;
  Step step;
  if (!begin || *begin < 1 || !ReadEnd(item.substr(dots + 2), end, step) || *begin > end) {
    return UsageError(fmt::format("'{}' is not a range; {}", item, kSweepForms));
  }
  for (int64_t value = *begin; value < end; value = step.adds ? value + step.by : value * step.by) {
    if (values.size() >= kMostSweepValues) {
      return UsageError(fmt::format("'{}' has more than {} values; take larger steps", item, kMostSweepValues));
    }
    values.push_back(std::to_string(value));
  }
  values.push_back(std::to_string(end));
  return {};
}

std::string ValueOf(const CaseSpec& spec, const Sweep& sweep, const OpSchema& schema) {
  const std::string text = AttrReader(spec, schema).Text(sweep.key);
  if (sweep.entry < 0) return text;
  const auto entries = Split(text, 'x');
  const auto at = static_cast<size_t>(sweep.entry);
  return at < entries.size() ? std::string(entries[at]) : "";
}

// The attribute's text with one entry of its list replaced.
Result<std::string> WithEntry(const CaseSpec& spec, const Sweep& sweep, const OpSchema& schema,
                              const std::string& value) {
  if (sweep.entry < 0) return value;
  const std::string text = AttrReader(spec, schema).Text(sweep.key);
  const auto entries = Split(text, 'x');
  if (static_cast<size_t>(sweep.entry) >= entries.size()) {
    return UsageError(fmt::format("{}={} has no entry {}, they count from 0", sweep.key, text, sweep.entry));
  }
  std::string joined;
  for (size_t i = 0; i < entries.size(); ++i) {
    joined += (i == 0 ? "" : "x") + (i == static_cast<size_t>(sweep.entry) ? value : std::string(entries[i]));
  }
  return joined;
}

Result<CaseSpec> Swept(CaseSpec spec, const Sweep& sweep, const OpSchema& schema, const std::string& value) {
  auto text = WithEntry(spec, sweep, schema, value);
  if (!text) return tl::unexpected(text.error());
  std::erase_if(spec.attrs, [&](const auto& attr) { return attr.first == sweep.key; });
  spec.attrs.emplace_back(sweep.key, *text);
  return Canonicalise(std::move(spec), schema);
}

}  // namespace

std::string Sweep::Label() const {
  return entry < 0 ? key : fmt::format("{}.{}", key, entry);
}

Result<Sweep> ParseSweep(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) return UsageError(fmt::format("'{}' is not a sweep; {}", text, kSweepForms));
  Sweep sweep;
  std::string_view key = text.substr(0, equals);
  if (const size_t dot = key.find('.'); dot != key.npos) {
    const auto entry = ParseNumber<int>(key.substr(dot + 1));
    if (!entry || *entry < 0) return UsageError(fmt::format("'{}' names no entry of a list; write shape.0", key));
    sweep.entry = *entry;
    key = key.substr(0, dot);
  }
  sweep.key = key;
  for (const std::string_view item : Split(text.substr(equals + 1), ',')) {
    if (Status added = AddSweepValues(item, sweep.values); !added) return tl::unexpected(added.error());
  }
  return sweep;
}

Result<std::vector<std::string>> MakeSweptCases(const std::string& case_id, const Sweep& sweep, const OpCatalog& ops) {
  const auto wrong = [&](const std::string& what) { return UsageError(fmt::format("{}: {}", case_id, what)); };
  auto parsed = ParseId(case_id);
  if (!parsed) return wrong(parsed.error().message);
  const OpSchema* schema = ops.find(parsed->op);
  if (schema == nullptr) {
    return wrong(UnknownOperator(parsed->op, ops).value().message);
  }
  auto spec = Canonicalise(std::move(*parsed), *schema);
  if (!spec) return wrong(spec.error().message);
  if (schema->Find(sweep.key) == nullptr) {
    std::vector<std::string> keys;
    for (const AttrDef& attr : schema->attrs) keys.push_back(attr.key);
    return wrong(fmt::format("{} has no attribute '{}'; it has {}", schema->op, sweep.key, fmt::join(keys, ", ")));
  }
  std::vector<std::string> ids;
  for (const std::string& value : sweep.values) {
    const auto swept = Swept(*spec, sweep, *schema, value);
    if (!swept) return wrong(swept.error().message);
    ids.push_back(swept->Id());
    const auto same = std::ranges::find(ids, ids.back());
    if (same == ids.end() - 1) continue;
    return wrong(fmt::format("the values {} and {} of {} make the same case; give each once",
                             sweep.values[static_cast<size_t>(same - ids.begin())], value, sweep.Label()));
  }
  return ids;
}

std::string SweepPoint(const CaseSpec& spec, const Sweep& sweep, const OpSchema& schema) {
  if (schema.Find(sweep.key) == nullptr) return "";
  const std::string value = ValueOf(spec, sweep, schema);
  return value.empty() ? "" : fmt::format("{}={}", sweep.Label(), value);
}

}  // namespace assay
