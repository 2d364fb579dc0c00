// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/core/base/glob.h"
#include "harness/core/base/text.h"
#include "harness/plan/expectations.h"

namespace assay {
namespace {

bool MatchesAny(const std::vector<std::string>& globs, std::string_view text) {
  return globs.empty() || std::ranges::any_of(globs, [&](const std::string& glob) { return MatchesGlob(glob, text); });
}

bool IsAmong(const std::vector<std::string>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

// "acc=tc" holds for every acc=tc<F,b>.
bool FieldsHold(const std::vector<FieldValue>& fields, const Result<Contract>& contract) {
  if (fields.empty()) return true;
  if (!contract) return false;
  return std::ranges::all_of(fields, [&](const FieldValue& wanted) {
    const std::string value = FieldText(*contract, wanted.first);
    return value == wanted.second || value.starts_with(wanted.second + "<");
  });
}

bool AttrsHold(const Expectation& rule, const Record& record) {
  if (rule.attrs.empty()) return true;
  const auto spec = ParseId(record.case_id);
  const auto schema = std::ranges::find(rule.ops, record.op, &OpSchema::op);
  if (!spec || schema == rule.ops.end()) return false;
  return std::ranges::all_of(rule.attrs, [&](const AttrCondition& c) { return Holds(c, *spec, **schema); });
}

bool VersionsHold(const std::vector<VersionBound>& bounds, const std::string& text) {
  return std::ranges::all_of(bounds, [&](const VersionBound& bound) { return Holds(bound, text); });
}

bool Fails(const Number& margin) {
  return margin && !(*margin <= 1);
}

// The channels that reject the record's result.
std::vector<std::string> FindFailingChannels(const Record& r) {
  std::vector<std::string> failing;
  const std::pair<const char*, Number> channels[] = {{"exact", r.exact_margin},
                                                     {"bound", r.bound_margin},
                                                     {"statistic", r.stat_margin},
                                                     {"exceptional", r.exceptional_margin},
                                                     {"metamorphic", r.metamorphic_margin}};
  for (const auto& [name, margin] : channels) {
    if (Fails(margin)) failing.emplace_back(name);
  }
  return failing;
}

std::string_view KindOfValue(std::string_view number) {
  if (number == "nan" || number == "-nan") return "nan";
  return number == "inf" || number == "-inf" ? number : std::string_view("finite");
}

// Whether the rule allows the kinds of values among the record's worst elements "index:got:golden:tolerance;...". Only
// elements whose value is of another kind than the golden one count.
bool MatchesWorstElements(const Expectation& rule, const Record& record) {
  if (rule.golden.empty() && rule.got.empty()) return true;
  size_t wrong = 0;
  for (const std::string_view element : Split(record.worst_elements, ';')) {
    const std::vector<std::string_view> parts = Split(element, ':');
    if (parts.size() != 4) continue;
    const std::string_view got = KindOfValue(parts[1]), golden = KindOfValue(parts[2]);
    if (got == golden) continue;
    ++wrong;
    if (!rule.got.empty() && !IsAmong(rule.got, got)) return false;
    if (!rule.golden.empty() && !IsAmong(rule.golden, golden)) return false;
  }
  // Finite values beyond their tolerance are another failure, whatever else there is.
  return wrong > 0 && record.violations.value_or(0) == 0;
}

}  // namespace

bool IsAboutCase(const Expectation& rule, const Record& record) {
  const auto same = [&](const OpSchema* schema) { return schema->op == record.op; };
  return MatchesAny(rule.case_globs, record.case_id) && (rule.ops.empty() || std::ranges::any_of(rule.ops, same)) &&
         MatchesAny(rule.dtypes, record.dtype) && MatchesAny(rule.fills, record.fill) && AttrsHold(rule, record);
}

bool IsAbout(const Expectation& rule, const Record& record, bool version) {
  return MatchesGlob(rule.backend_glob, record.backend) &&
         MatchesAny(rule.implementation_globs, record.implementation) && MatchesAny(rule.device_globs, record.device) &&
         IsAboutCase(rule, record) && FieldsHold(rule.declares, ParseDeclaration(record.contract)) &&
         FieldsHold(rule.demands, ParseRequirement(record.required_contract)) &&
         (!version || (VersionsHold(rule.library, record.library_version) && VersionsHold(rule.driver, record.driver)));
}

bool Covers(const Expectation& rule, const Record& record) {
  if (!IsAmong(rule.verdicts, record.verdict)) return false;
  // A rule about a demand that the implementation does not declare does not excuse one that breaks its declaration.
  if (record.verdict == "below_contract" && !rule.demands.empty() && !record.lower_class_name.empty()) return false;
  if (record.verdict != "mismatch") return true;
  const std::vector<std::string> failing = FindFailingChannels(record);
  const bool listed = std::ranges::all_of(failing, [&](const std::string& c) { return IsAmong(rule.channels, c); });
  return (rule.channels.empty() || (!failing.empty() && listed)) && MatchesWorstElements(rule, record);
}

const Expectation* FindExpectation(const std::vector<Expectation>& rules, const Record& record) {
  const Expectation* first = nullptr;
  for (const Expectation& rule : rules) {
    if (rule.expired || !IsAbout(rule, record)) continue;
    if (Covers(rule, record)) return &rule;
    if (first == nullptr) first = &rule;
  }
  return first;
}

}  // namespace assay
