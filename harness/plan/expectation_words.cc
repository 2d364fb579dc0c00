// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/expectation_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "harness/core/base/glob.h"
#include "harness/core/base/text.h"
#include "harness/core/data/dtype.h"
#include "harness/core/data/fill/fill.h"

namespace assay {
namespace {

constexpr std::string_view kCoverable[] = {"mismatch", "below_contract", "nondeterministic", "flaky", "crash",
                                           "timeout",  "error"};
constexpr std::string_view kChannels[] = {"exact", "bound", "statistic", "exceptional", "metamorphic"};
constexpr std::string_view kValues[] = {"nan", "inf", "-inf", "finite"};
constexpr std::string_view kFaults[] = {"library", "driver", "device"};
constexpr std::string_view kWordKeys[] = {"case",           "op",       "dtype",         "fill",         "attributes",
                                          "implementation", "device",   "library",       "driver",       "declares",
                                          "requires",       "verdicts", "shows.channel", "shows.golden", "shows.got"};
constexpr std::string_view kTextKeys[] = {"id", "backend", "fault", "read", "owner", "reason"};

Status CheckAmong(std::string_view word, std::span<const std::string_view> known) {
  if (std::ranges::find(known, word) != known.end()) return {};
  return UsageError(fmt::format("'{}' is not one of {}", word, fmt::join(known, ", ")));
}

Status AddAmong(std::string_view word, std::span<const std::string_view> known, std::vector<std::string>& out) {
  if (auto among = CheckAmong(word, known); !among) return among;
  out.emplace_back(word);
  return {};
}

Status AddOp(std::string_view name, const OpCatalog& ops, Expectation& rule) {
  const OpSchema* schema = ops.find(name);
  if (schema == nullptr) return UnknownOperator(name, ops);
  rule.ops.push_back(schema);
  return {};
}

Status AddDType(std::string_view glob, Expectation& rule) {
  if (glob.find_first_of("*?") == std::string_view::npos) {
    if (auto known = ParseDTypeList(glob); !known) return tl::unexpected(known.error());
  }
  rule.dtypes.emplace_back(glob);
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

Status AddCondition(std::string_view word, Expectation& rule) {
  auto condition = ParseAttrCondition(word);
  if (!condition) return tl::unexpected(condition.error());
  rule.attrs.push_back(*std::move(condition));
  return {};
}

// "2.6.3" is "=2.6.3".
Status AddBound(std::string_view key, std::string_view word, std::vector<VersionBound>& bounds) {
  const bool compared = word.find_first_of("<>=!") == 0;
  auto bound = ParseVersionBound(fmt::format("{}{}{}", key, compared ? "" : "=", word));
  if (!bound) return tl::unexpected(bound.error());
  bounds.push_back(*std::move(bound));
  return {};
}

Status AddField(std::string_view word, std::vector<FieldValue>& fields) {
  const size_t equals = std::min(word.find('='), word.size());
  const std::string_view field = word.substr(0, equals), value = word.substr(std::min(equals + 1, word.size()));
  if (auto known = CheckField(field, value); !known) return known;
  fields.emplace_back(field, value);
  return {};
}

template <class Known, class Add>
Status AddChecked(const Status& known, Known& list, const Add& word) {
  if (known) list.emplace_back(word);
  return known;
}

}  // namespace

bool TakesWords(std::string_view key) {
  return std::ranges::find(kWordKeys, key) != std::end(kWordKeys);
}

Status AddWord(std::string_view key, std::string_view word, const OpCatalog& ops, Expectation& rule) {
  if (key == "case") return AddChecked(CheckCaseGlob(word, ops), rule.case_globs, word);
  if (key == "op") return AddOp(word, ops, rule);
  if (key == "dtype") return AddDType(word, rule);
  if (key == "fill") return AddChecked(CheckFill(word), rule.fills, word);
  if (key == "attributes") return AddCondition(word, rule);
  if (key == "implementation") return AddChecked({}, rule.implementation_globs, word);
  if (key == "device") return AddChecked({}, rule.device_globs, word);
  if (key == "library") return AddBound(key, word, rule.library);
  if (key == "driver") return AddBound(key, word, rule.driver);
  if (key == "declares") return AddField(word, rule.declares);
  if (key == "requires") return AddField(word, rule.demands);
  if (key == "verdicts") return AddAmong(word, kCoverable, rule.verdicts);
  if (key == "shows.channel") return AddAmong(word, kChannels, rule.channels);
  return AddAmong(word, kValues, key == "shows.golden" ? rule.golden : rule.got);
}

std::string* TextOf(std::string_view key, Expectation& rule) {
  std::string* const texts[] = {&rule.id, &rule.backend_glob, &rule.fault, &rule.read_on, &rule.owner, &rule.reason};
  const auto* const found = std::ranges::find(kTextKeys, key);
  return found == std::end(kTextKeys) ? nullptr : texts[found - kTextKeys];
}

Status CheckText(std::string_view key, std::string_view text) {
  if (Trim(text).empty()) return UsageError(fmt::format("'{}' is empty", key));
  if (key == "fault") return CheckAmong(text, kFaults);
  if (key == "id" && text.find_first_of(" \t\n") != std::string_view::npos) {
    return UsageError(fmt::format("the id '{}' is not one word", text));
  }
  return {};
}

std::string KnownKeys() {
  return fmt::format("{}, {}, expires", fmt::join(kTextKeys, ", "), fmt::join(kWordKeys, ", "));
}

Status CheckFill(std::string_view glob) {
  if (glob.find_first_of("*?") == std::string_view::npos) {
    auto fill = ParseFill(glob);
    return fill ? Status() : tl::unexpected(fill.error());
  }
  if (MayBeFill(glob)) return {};
  return UsageError(fmt::format("no fill matches '{}'; known: {}", glob, fmt::join(KnownFills(), ", ")));
}

Status CheckComplete(const Expectation& rule) {
  const char* missing = rule.id.empty()             ? "id"
                        : rule.backend_glob.empty() ? "backend"
                        : rule.verdicts.empty()     ? "verdicts"
                        : rule.reason.empty()       ? "reason"
                                                    : nullptr;
  if (missing == nullptr) return {};
  return UsageError(fmt::format("the rule {} has no key '{}'; add it", rule.id, missing));
}

Status CheckCondition(const AttrCondition& condition, const Expectation& rule) {
  if (rule.ops.empty()) {
    return UsageError(fmt::format("the rule {} has a condition on {} and no op; add it", rule.id, condition.key));
  }
  for (const OpSchema* schema : rule.ops) {
    if (auto known = Check(condition, *schema); !known) return known;
  }
  return {};
}

}  // namespace assay
