// SPDX-License-Identifier: Apache-2.0
// How the run went, in one line and one bar, and what was run where.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/core/base/amounts.h"
#include "reports/fault.h"
#include "reports/glossary.h"
#include "reports/html/html_parts.h"
#include "reports/incomplete.h"
#include "reports/pooled.h"
#include "reports/strictness.h"
#include "reports/text.h"
#include "reports/verdicts.h"

namespace assay::html {
namespace {

bool Ran(const Record& r) {
  return r.outcome != "unsupported" && r.outcome != "unavailable" && !IsMissing(r);
}

std::string Headline(const Page& page) {
  const RecordView& records = page.records;
  const auto failed = std::ranges::count_if(records, [](const Record& r) { return IsFailure(r) && !IsMissing(r); });
  const auto ran = std::ranges::count_if(records, Ran);
  if (failed > 0) {
    return fmt::format("<h1 class=\"bad\"><b aria-hidden=\"true\">✗</b> {} of {} failed</h1>", failed,
                       Counted(ran, "result"));
  }
  if (ran == 0) return "<h1 class=\"off\"><b aria-hidden=\"true\">∅</b> Nothing ran</h1>";
  if (std::ranges::any_of(records, IsMissing)) {
    return fmt::format("<h1 class=\"broken\"><b aria-hidden=\"true\">?</b> Incomplete: {}, none failed</h1>",
                       Counted(ran, "result"));
  }
  if (const std::vector<PooledAnswer> pooled = FindPooled(records); PooledFails(pooled, false)) {
    return fmt::format("<h1 class=\"bad\"><b aria-hidden=\"true\">✗</b> None of {} failed by itself; {}</h1>",
                       Counted(ran, "result"), PooledCountText(pooled));
  }
  if (const std::string strictly = StrictFailuresText(records); IsStrict(page.environment) && !strictly.empty()) {
    return fmt::format("<h1 class=\"bad\"><b aria-hidden=\"true\">✗</b> Failed by --strict: {}</h1>", strictly);
  }
  const auto known = std::ranges::count_if(
      records, [](const Record& r) { return r.outcome == "known_failure" || r.outcome == "known_flake"; });
  return fmt::format("<h1 class=\"ok\"><b aria-hidden=\"true\">✓</b> {} failed{}</h1>",
                     ran == 1 ? "The only result has not" : fmt::format("None of {} results", ran),
                     known == 0 ? "" : ", apart from " + Counted(known, "known failure"));
}

std::string Incomplete(const RecordView& records) {
  const std::string line = IncompleteLine(records);
  if (line.empty()) return line;
  std::string places;
  for (const auto& row : MissingTable(records).rows) {
    places += fmt::format("{}{} of {}", places.empty() ? "" : ", ", row[0], row[1]);
  }
  return fmt::format("<p class=\"incomplete\">{} Missing: {}.</p>\n", Chip("missing", line), Escaped(places));
}

// A bar of all outcomes in proportion, and its key, whose entries select rows of the table.
std::string OutcomeBar(const RecordView& records) {
  std::string bar = "<div class=\"outcomes\" aria-hidden=\"true\">", key = "<ul class=\"key\">";
  for (const auto& [outcome, count] : CountOutcomes(records)) {
    bar += fmt::format("<i class=\"{}\" style=\"flex:{}\"></i>", StyleOf(outcome).tone, count);
    key += fmt::format("<li><a href=\"{}\">{}</a></li>", Escaped(Fragment({{"verdict", outcome}})),
                       Chip(outcome, fmt::format("{} {}", count, outcome)));
  }
  const auto suspect = std::ranges::count_if(records, [](const Record& r) { return r.result_class == "suspect"; });
  if (suspect > 0) {
    key += fmt::format(
        "<li><a href=\"#q=suspect\" title=\"counted among the verdicts beside; {}\"><span class=\"chip warn\"><b "
        "aria-hidden=\"true\">~</b> {} suspect</span></a></li>",
        Escaped(DefinitionOf("suspect")), suspect);
  }
  return bar + "</div>\n" + key + "</ul>\n";
}

std::string Fact(const char* name, const std::string& value) {
  return value.empty() ? "" : fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, Escaped(value));
}

// One entry per distinct text that `get` finds in the records.
template <class F>
std::string Distinct(const RecordView& records, F&& get) {
  std::set<std::string> texts;
  for (const Record& r : records) texts.insert(get(r));
  texts.erase("");
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

std::string Joined(const std::string& a, const char* separator, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + separator + b;
}

std::string Facts(const Page& page) {
  const auto value = [&](const char* name) { return EnvironmentValue(page.environment, name); };
  const std::string cores = value("cores");
  std::set<std::string> cases;
  for (const Record& r : page.records) {
    if (!IsMissing(r)) cases.insert(r.case_id);
  }
  const int64_t ran = std::ranges::count_if(page.records, Ran);
  const int64_t missing = std::ranges::count_if(page.records, IsMissing);
  const int64_t rest = static_cast<int64_t>(page.records.size()) - ran - missing;
  std::string backends =
      Distinct(page.records, [](const Record& r) { return Joined(r.backend, " ", r.library_version); });
  std::string out = "<dl class=\"facts\">\n";
  out += Fact("Ran", Counted(static_cast<int64_t>(cases.size()), "case") + ", " + Counted(ran, "result") +
                         (rest > 0 ? fmt::format("; {} not offered", rest) : ""));
  out += Fact("Backends", backends);
  out += Fact("Devices", Distinct(page.records, [](const Record& r) { return r.device; }));
  out += Fact("CPU", Joined(value("cpu"), ", ", cores.empty() ? "" : cores + (cores == "1" ? " core" : " cores")));
  out += Fact("System", Joined(Joined(value("os"), ", ", value("kernel")), ", ", value("architecture")));
  out += Fact("Tool", Joined("assay " + Distinct(page.records, [](const Record& r) { return r.tool_version; }), ", ",
                             value("compiler")));
  const std::string timestamp = value("timestamp");
  out += Fact("When", timestamp.empty() && !page.records.empty() ? page.records[0].timestamp : timestamp);
  return out + "</dl>\n";
}

}  // namespace

std::string HeaderSection(const Page& page) {
  std::string said;
  if (const std::string fault = FaultLine(page.records, page.environment); !fault.empty()) {
    said = "<p class=\"fault\">" + Escaped(fault) + " <a href=\"#legend\">How to read this</a></p>\n";
  }
  for (const std::string& note : page.notes) said += "<p class=\"incomplete\">" + Escaped(note) + "</p>\n";
  return "<header><div class=\"wrap\">\n" + Headline(page) + "\n" + said + Incomplete(page.records) +
         OutcomeBar(page.records) + Facts(page) + "</div></header>\n";
}

}  // namespace assay::html
