// SPDX-License-Identifier: Apache-2.0
// How the run went, in one line and one bar, and what was run where.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/html_parts.h"
#include "reports/text.h"
#include "reports/verdicts.h"

namespace assay::html {
namespace {

std::string Headline(const std::vector<Record>& records) {
  const auto failed = std::count_if(records.begin(), records.end(), IsFailure);
  const auto ran = std::count_if(records.begin(), records.end(), [](const Record& r) {
    return r.outcome != "unsupported" && r.outcome != "unavailable";
  });
  if (failed > 0) {
    return fmt::format("<h1 class=\"bad\"><b aria-hidden=\"true\">✗</b> {} of {} results failed</h1>", failed, ran);
  }
  if (ran == 0) return "<h1 class=\"off\"><b aria-hidden=\"true\">∅</b> Nothing ran</h1>";
  return fmt::format("<h1 class=\"ok\"><b aria-hidden=\"true\">✓</b> None of {} results failed</h1>", ran);
}

// A bar of all outcomes in proportion, and its key, whose entries select rows of the table.
std::string OutcomeBar(const std::vector<Record>& records) {
  const auto counts = CountOutcomes(records);
  std::string bar = "<div class=\"outcomes\" aria-hidden=\"true\">", key = "<ul class=\"key\">";
  for (const VerdictStyle& style : VerdictStyles()) {
    const auto it = counts.find(std::string(style.name));
    if (it == counts.end()) continue;
    bar += fmt::format("<i class=\"{}\" style=\"flex:{}\"></i>", style.tone, it->second);
    key += fmt::format("<li><a href=\"#cases\" data-outcome=\"{}\">{}</a></li>", style.name,
                       Chip(style.name, fmt::format("{} {}", it->second, style.name)));
  }
  const auto suspect =
      std::count_if(records.begin(), records.end(), [](const Record& r) { return r.result_class == "suspect"; });
  if (suspect > 0) {
    key += fmt::format(
        "<li><a href=\"#cases\" data-text=\"suspect\" title=\"counted among the verdicts beside\"><span class=\"chip "
        "warn\"><b "
        "aria-hidden=\"true\">~</b> {} suspect</span></a></li>",
        suspect);
  }
  return bar + "</div>\n" + key + "</ul>\n";
}

std::string Fact(const char* name, const std::string& value) {
  return value.empty() ? "" : fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, Escaped(value));
}

// One entry per distinct text that `get` finds in the records.
template <class F>
std::string Distinct(const std::vector<Record>& records, F&& get) {
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
  for (const Record& r : page.records) cases.insert(r.case_id);
  std::string backends =
      Distinct(page.records, [](const Record& r) { return Joined(r.backend, " ", r.library_version); });
  std::string out = "<dl class=\"facts\">\n";
  out += Fact("Ran", fmt::format("{} cases, {} results", cases.size(), page.records.size()));
  out += Fact("Backends", backends);
  out += Fact("Devices", Distinct(page.records, [](const Record& r) { return r.device; }));
  out += Fact("CPU", Joined(value("cpu"), ", ", cores.empty() ? "" : cores + " cores"));
  out += Fact("System", Joined(Joined(value("os"), ", ", value("kernel")), ", ", value("architecture")));
  out += Fact("Tool", Joined("assay " + Distinct(page.records, [](const Record& r) { return r.tool_version; }), ", ",
                             value("compiler")));
  const std::string timestamp = value("timestamp");
  out += Fact("When", timestamp.empty() && !page.records.empty() ? page.records.front().timestamp : timestamp);
  return out + "</dl>\n";
}

}  // namespace

std::string HeaderSection(const Page& page) {
  return "<header><div class=\"wrap\">\n" + Headline(page.records) + "\n" + OutcomeBar(page.records) + Facts(page) +
         "</div></header>\n";
}

}  // namespace assay::html
