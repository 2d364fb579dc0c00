// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/expectations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/glob.h"
#include "harness/base/text.h"
#include "harness/base/whole_file.h"

namespace assay {
namespace {

constexpr std::string_view kCoverable[] = {"mismatch", "below_contract", "nondeterministic",
                                           "crash",    "timeout",        "error"};
constexpr size_t kCoveredByDefault = 3;

// "mismatch, crash"; "" is the default. Errors are the name that is unknown.
tl::expected<std::vector<std::string>, std::string> ParseVerdicts(std::string_view text) {
  if (Trim(text).empty()) return std::vector<std::string>(kCoverable, kCoverable + kCoveredByDefault);
  std::vector<std::string> verdicts;
  for (const std::string_view part : Split(text, ',')) {
    verdicts.emplace_back(Trim(part));
    if (std::ranges::find(kCoverable, verdicts.back()) == std::end(kCoverable)) {
      return tl::unexpected(verdicts.back());
    }
  }
  return verdicts;
}

Result<Expectation> ParseRule(std::string_view line, const std::string& where) {
  const std::vector<std::string_view> parts = Split(line, '|');
  auto error = [&](std::string_view what) {
    return UsageError(
        fmt::format("{}: {}; write: case glob | backend:implementation glob | known_failure | reason", where, what));
  };
  if (parts.size() < 4) return error("a rule has four parts");
  Expectation rule;
  rule.case_glob = Trim(parts[0]);
  rule.column_glob = Trim(parts[1]);
  const std::string_view how = Trim(parts[2]);
  const std::string_view kind = how.substr(0, how.find_first_of(" \t"));
  rule.flake = kind == "known_flake";
  // The reason is the rest, whatever stands in it.
  rule.reason = Trim(line.substr(static_cast<size_t>(parts[3].data() - line.data())));
  rule.where = where;
  if (rule.case_glob.empty() || rule.column_glob.empty()) return error("a glob is empty");
  if (kind != "known_failure" && !rule.flake) {
    return error(fmt::format("'{}' is not one of known_failure, known_flake", kind));
  }
  auto verdicts = ParseVerdicts(how.substr(kind.size()));
  if (!verdicts) {
    return error(fmt::format("'{}' is not one of the verdicts {}", verdicts.error(), fmt::join(kCoverable, ", ")));
  }
  rule.verdicts = *std::move(verdicts);
  if (rule.reason.empty()) return error("the reason is empty");
  return rule;
}

}  // namespace

Result<std::vector<Expectation>> ParseExpectations(std::string_view text, const std::string& file) {
  std::vector<Expectation> rules;
  int number = 0;
  for (std::string_view line : Split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = Trim(line);
    if (line.empty() || line.front() == '#') continue;
    auto rule = ParseRule(line, fmt::format("{}:{}", file, number));
    if (!rule) return tl::unexpected(rule.error());
    rules.push_back(std::move(*rule));
  }
  return rules;
}

Result<std::vector<Expectation>> LoadExpectations(const std::string& path) {
  const auto text = ReadStream(path);
  if (text) return ParseExpectations(*text, path);
  return UsageError(fmt::format("cannot read the expectations file {}; check the path", text.error().message));
}

const Expectation* FindExpectation(const std::vector<Expectation>& rules, std::string_view case_id,
                                   std::string_view column, std::string_view verdict) {
  const Expectation* first = nullptr;
  for (const Expectation& rule : rules) {
    if (!MatchesGlob(rule.case_glob, case_id) || !MatchesGlob(rule.column_glob, column)) continue;
    if (Covers(rule, verdict)) return &rule;
    if (first == nullptr) first = &rule;
  }
  return first;
}

bool Covers(const Expectation& rule, std::string_view verdict) {
  return std::ranges::find(rule.verdicts, verdict) != rule.verdicts.end();
}

}  // namespace assay
