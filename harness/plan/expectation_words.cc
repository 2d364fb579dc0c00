// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/expectation_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

#include "harness/base/glob.h"
#include "harness/base/text.h"
#include "harness/data/dtype.h"
#include "harness/data/fill/fill.h"

namespace assay {
namespace {

constexpr std::string_view kCoverable[] = {"mismatch", "below_contract", "nondeterministic", "flaky", "crash",
                                           "timeout",  "error"};
constexpr size_t kCoveredByDefault = 3;
constexpr std::string_view kChannels[] = {"exact", "bound", "statistic", "exceptional", "metamorphic"};
constexpr std::string_view kValues[] = {"nan", "inf", "-inf", "finite"};
constexpr std::string_view kFaults[] = {"library", "driver", "device"};

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : Split(text, ' ')) {
    if (!Trim(word).empty()) words.push_back(Trim(word));
  }
  return words;
}

// "a|b", each one of `known`.
Status SetAlternatives(std::string_view text, std::span<const std::string_view> known, std::vector<std::string>& out) {
  for (const std::string_view part : Split(text, '|')) {
    if (std::ranges::find(known, part) == known.end()) {
      return UsageError(fmt::format("'{}' is not one of {}", part, fmt::join(known, ", ")));
    }
    out.emplace_back(part);
  }
  return {};
}

Status AddOps(std::string_view text, const OpCatalog& ops, Expectation& rule) {
  for (const std::string_view name : Split(text, '|')) {
    const OpSchema* schema = ops.find(name);
    if (schema == nullptr) {
      return UnknownOperator(name, ops);
    }
    rule.ops.push_back(schema);
  }
  return {};
}

Status AddDTypes(std::string_view text, Expectation& rule) {
  for (const std::string_view part : Split(text, '|')) {
    if (part.find_first_of("*?") == std::string_view::npos) {
      if (auto known = ParseDTypeList(part); !known) return tl::unexpected(known.error());
    }
    rule.dtypes.emplace_back(part);
  }
  return {};
}

// A glob of fills matches one of those that there are, up to their parameters.
bool MayBeFill(std::string_view glob) {
  const std::string_view start = glob.substr(0, glob.find_first_of("*?"));
  return std::ranges::any_of(KnownFills(), [&](const std::string& fill) {
    const std::string_view stem = std::string_view(fill).substr(0, fill.find("-K"));
    return MatchesGlob(glob, fill) || stem.starts_with(start) || start.starts_with(stem);
  });
}

Status AddFills(std::string_view text, Expectation& rule) {
  for (const std::string_view part : Split(text, '|')) {
    if (auto known = CheckFill(part); !known) return known;
    rule.fills.emplace_back(part);
  }
  return {};
}

Status AddCase(std::string_view rest, const OpCatalog& ops, Expectation& rule) {
  for (const std::string_view word : Words(rest)) {
    Status added;
    if (word.starts_with("op=")) {
      added = AddOps(word.substr(3), ops, rule);
    } else if (word.starts_with("dtype=")) {
      added = AddDTypes(word.substr(6), rule);
    } else if (word.starts_with("fill=")) {
      added = AddFills(word.substr(5), rule);
    } else if (auto condition = ParseAttrCondition(word); condition) {
      rule.attrs.push_back(*std::move(condition));
    } else {
      added = tl::unexpected(condition.error());
    }
    if (!added) return added;
  }
  return {};
}

Status AddBackend(std::string_view rest, Expectation& rule) {
  for (const std::string_view word : Words(rest)) {
    const auto parts = SplitAtComparison(word);
    if (!parts && rule.backend_glob.empty()) {
      rule.backend_glob = word;
    } else if (parts && (parts->left == "library" || parts->left == "driver")) {
      auto bound = ParseVersionBound(word);
      if (!bound) return tl::unexpected(bound.error());
      (parts->left == "library" ? rule.library : rule.driver).push_back(*std::move(bound));
    } else if (word.starts_with("device=")) {
      rule.device_glob = word.substr(7);
    } else if (word.starts_with("impl=")) {
      rule.implementation_glob = word.substr(5);
    } else {
      return UsageError(
          fmt::format("'{}' is unknown here; write: backend NAME library<3.4 driver>=22 device=GLOB "
                      "impl=GLOB",
                      word));
    }
  }
  return {};
}

Status AddFields(std::string_view rest, std::vector<FieldValue>& fields) {
  for (const std::string_view word : Words(rest)) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string_view field = word.substr(0, equals), value = word.substr(std::min(equals + 1, word.size()));
    if (auto known = CheckField(field, value); !known) return known;
    fields.emplace_back(field, value);
  }
  return {};
}

Status AddShown(std::string_view rest, Expectation& rule) {
  for (const std::string_view word : Words(rest)) {
    const size_t equals = std::min(word.find('=') + 1, word.size());
    const std::string_view key = word.substr(0, equals), value = word.substr(equals);
    const Status added = key == "channel="  ? SetAlternatives(value, kChannels, rule.channels)
                         : key == "golden=" ? SetAlternatives(value, kValues, rule.golden)
                         : key == "got="    ? SetAlternatives(value, kValues, rule.got)
                                            : UsageError(fmt::format("'{}' is not channel=, golden= or got=", word));
    if (!added) return added;
  }
  return {};
}

Status SetFault(std::string_view rest, Expectation& rule) {
  std::vector<std::string> fault;
  if (auto known = SetAlternatives(rest, kFaults, fault); !known) return known;
  rule.fault = fault[0];
  return {};
}

}  // namespace

bool IsKind(std::string_view word) {
  return word == "known_failure" || word == "known_flake";
}

Status CheckFill(std::string_view glob) {
  if (glob.find_first_of("*?") == std::string_view::npos) {
    auto fill = ParseFill(glob);
    return fill ? Status() : tl::unexpected(fill.error());
  }
  if (MayBeFill(glob)) return {};
  return UsageError(fmt::format("no fill matches '{}'; known: {}", glob, fmt::join(KnownFills(), ", ")));
}

Result<Expectation> NewRule(std::string_view kind, std::string_view name) {
  if (!IsKind(kind)) {
    return UsageError(
        fmt::format("'{}' begins no rule; write known_failure or known_flake and a name at the left edge, "
                    "and its lines indented, or the short form: case glob | backend:implementation glob "
                    "| known_failure | reason",
                    kind));
  }
  if (name.empty() || name.find_first_of(" \t") != std::string_view::npos) {
    return UsageError(fmt::format("'{}' is no name of a rule; write one word after {}", name, kind));
  }
  Expectation rule;
  rule.name = name;
  rule.flake = kind == "known_flake";
  return rule;
}

Status AddLine(std::string_view key, std::string_view rest, const OpCatalog& ops, Expectation& rule) {
  if (rest.empty()) return UsageError(fmt::format("the line '{}' says nothing", key));
  if (key == "case") return AddCase(rest, ops, rule);
  if (key == "backend") return AddBackend(rest, rule);
  if (key == "declares") return AddFields(rest, rule.declares);
  if (key == "requires") return AddFields(rest, rule.demands);
  if (key == "fails") return SetVerdicts(rest, rule);
  if (key == "shows") return AddShown(rest, rule);
  if (key == "fault") return SetFault(rest, rule);
  if (key == "read" || key == "reason") {
    std::string& text = key == "read" ? rule.read_on : rule.reason;
    text += (text.empty() ? "" : " ") + std::string(rest);
    return {};
  }
  return UsageError(fmt::format(
      "'{}' is no line of a rule; known: case, backend, declares, requires, fails, shows, fault, read, reason", key));
}

Status CheckComplete(const Expectation& rule) {
  const char* missing = rule.backend_glob.empty() ? "backend" : rule.verdicts.empty() ? "fails" : "reason";
  if (rule.backend_glob.empty() || rule.verdicts.empty() || rule.reason.empty()) {
    return UsageError(fmt::format("the rule {} has no line '{}'; add it", rule.name, missing));
  }
  return {};
}

Status CheckCondition(const AttrCondition& condition, const Expectation& rule) {
  if (rule.ops.empty()) {
    return UsageError(fmt::format("the rule {} has a condition on {} and no op=; add it", rule.name, condition.key));
  }
  for (const OpSchema* schema : rule.ops) {
    if (auto known = Check(condition, *schema); !known) return known;
  }
  return {};
}

Status AddEstablished(std::string_view rest, std::vector<std::string>& established) {
  for (const std::string_view part : Split(rest, ',')) {
    if (Trim(part).empty()) return UsageError("write: established x86-64-avx2, x86-64-amx");
    established.emplace_back(Trim(part));
  }
  return {};
}

Status SetVerdicts(std::string_view text, Expectation& rule) {
  if (Trim(text).empty()) rule.verdicts.assign(kCoverable, kCoverable + kCoveredByDefault);
  if (Trim(text).empty()) return {};
  for (const std::string_view part : Split(text, ',')) {
    rule.verdicts.emplace_back(Trim(part));
    if (std::ranges::find(kCoverable, rule.verdicts.back()) == std::end(kCoverable)) {
      return UsageError(
          fmt::format("'{}' is not one of the verdicts {}", rule.verdicts.back(), fmt::join(kCoverable, ", ")));
    }
  }
  return {};
}

}  // namespace assay
