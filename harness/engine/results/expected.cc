// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/expected.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/core/base/glob.h"
#include "harness/core/data/tensor.h"
#include "harness/engine/results/environment.h"
#include "harness/engine/results/missing.h"
#include "harness/judge/verdict.h"
#include "harness/plan/catalog.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> ShippedFiles() {
  const fs::path folder = ShippedFolder("expectations", "backends");
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename() == "known_issues.toml") files.push_back(it->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string WithHash(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  const std::string content = text.str();
  return fmt::format("{} xxh3:{}", path, HashHex(HashBytes(content.data(), content.size())));
}

// Describes what the rule covers.
std::string ExpectedText(const Expectation& rule) {
  const auto shown = [](const char* what, const std::vector<std::string>& values) {
    return values.empty() ? std::string() : fmt::format(" {} {}", what, fmt::join(values, " or "));
  };
  return fmt::format("{}{}{}{}, no fault of memory", fmt::join(rule.verdicts, ", "), shown("of channel", rule.channels),
                     shown("with", rule.got), shown("in place of", rule.golden));
}

// Finds a rule that would cover the failure in another version: the defect may reach further than was known.
std::string OtherVersion(const std::vector<Expectation>& rules, const Record& record) {
  const auto covers = [&](const Expectation& rule) {
    return !rule.expired && IsAbout(rule, record, false) && Covers(rule, record);
  };
  const auto rule = std::ranges::find_if(rules, covers);
  if (rule == rules.end()) return "";
  return fmt::format(" [{} lists it for other versions: {}; this is library '{}', driver '{}']", rule->where,
                     rule->reason, record.library_version, record.driver);
}

// Whose rule it is, and until when.
std::string OwnerText(const Expectation& rule) {
  std::string text;
  if (!rule.owner.empty()) text += ", of " + rule.owner;
  if (!rule.expires.empty()) text += ", until " + rule.expires;
  return text;
}

// A rule that covered the failure until its day.
std::string FindExpiredRule(const std::vector<Expectation>& rules, const Record& record) {
  const auto covers = [&](const Expectation& r) { return r.expired && IsAbout(r, record) && Covers(r, record); };
  const auto rule = std::ranges::find_if(rules, covers);
  if (rule == rules.end()) return "";
  return fmt::format(" [{} has expired ({}{}): fix what it waives, or renew it]", rule->where, rule->id,
                     OwnerText(*rule));
}

}  // namespace

Result<ExpectationSet> LoadExpectationSet(const std::vector<std::string>& files) {
  ExpectationSet set;
  const bool none = files.size() == 1 && files[0] == "none";
  if (const auto why = ExplainMissingFolder("expectations", "backends"); files.empty() && !why.empty()) {
    set.note =
        "known failures count as failures, since no list of them was found" + why + ", or say --expectations none";
  }
  set.shipped = files.empty();
  const OpCatalog ops = Catalog();
  for (const std::string& path : set.shipped ? ShippedFiles() : none ? std::vector<std::string>{} : files) {
    auto file = LoadExpectations(path, ops);
    if (!file) return tl::unexpected(file.error());
    for (Expectation& rule : file->rules) {
      // Days are compared as text, and in UTC, so that a list means the same everywhere.
      rule.expired = !rule.expires.empty() && rule.expires < TimestampUtc().substr(0, rule.expires.size());
      if (!file->established.empty()) set.established.push_back({rule.backend_glob, file->established});
      set.rules.push_back(std::move(rule));
    }
    set.files.push_back(WithHash(path));
  }
  return set;
}

void ApplyExpectations(const std::vector<Expectation>& rules, bool memory_fault, Record& record) {
  if (record.fault == kHarnessBackend) return;  // no failure of a backend is known by it
  auto verdict = ParseVerdict(record.verdict);
  if (!verdict || *verdict == Verdict::kUnsupported || *verdict == Verdict::kUnavailable) return;
  const bool failed = *verdict != Verdict::kPass && *verdict != Verdict::kInconclusive;
  const Expectation* rule = FindExpectation(rules, record);
  if (rule == nullptr) {
    if (failed) {
      const std::string expired = FindExpiredRule(rules, record);
      record.reason += expired.empty() ? OtherVersion(rules, record) : expired;
    }
  } else if (failed && (memory_fault || !Covers(*rule, record))) {
    record.reason = fmt::format("{} [{} expects another failure: {}]", record.reason, rule->where, ExpectedText(*rule));
  } else if (failed) {
    record.outcome = rule->flake ? "known_flake" : "known_failure";
    record.known_issue = rule->id;
    record.fault = rule->fault;
    record.read_on = rule->read_on.empty() ? rule->where : rule->read_on;
    record.known_reason = rule->reason, record.known_where = rule->where;
    record.known_owner = rule->owner, record.known_expires = rule->expires;
    record.reason = fmt::format("{} [known: {}, {}{}]", record.reason, rule->reason, rule->where, OwnerText(*rule));
  } else if (!rule->flake && *verdict == Verdict::kPass && !record.sample_judged) {  // a sample may lack what fails
    record.outcome = "unexpected_pass";
    record.reason =
        fmt::format("it passes although {} says: {}; remove or narrow that rule", rule->where, rule->reason);
  }
}

std::vector<std::string> FindExpiredRules(const std::vector<Expectation>& rules) {
  std::vector<std::string> expired;
  for (const Expectation& rule : rules) {
    if (rule.expired) expired.push_back(fmt::format("{} ({}{})", rule.where, rule.id, OwnerText(rule)));
  }
  return expired;
}

std::vector<std::string> FindUnusedRules(const std::vector<Expectation>& rules, const RecordView& records) {
  std::vector<const Expectation*> left;
  for (const Expectation& rule : rules) left.push_back(&rule);
  for (const Record& r : records) {
    std::erase_if(left, [&](const Expectation* rule) { return IsAbout(*rule, r); });
  }
  std::vector<std::string> unused;
  for (const Expectation* rule : left) unused.push_back(rule->where);
  return unused;
}

std::string UnknownProcessor(const ExpectationSet& set, const std::vector<std::string>& backends,
                             const std::string& processor) {
  std::vector<std::string> unknown, known;
  for (const auto& [glob, classes] : set.established) {
    if (std::ranges::find(classes, processor) != classes.end()) continue;
    for (const std::string& backend : backends) {
      const bool named = std::ranges::find(unknown, backend) != unknown.end();
      if (MatchesGlob(glob, backend) && !named) unknown.push_back(backend), known = classes;
    }
  }
  if (unknown.empty()) return "";
  return fmt::format(
      "processor class {} is not among those on which the known failures of {} were established ({}): a failure here "
      "may be one of the library that no file lists yet",
      processor, fmt::join(unknown, ", "), fmt::join(known, ", "));
}

}  // namespace assay
