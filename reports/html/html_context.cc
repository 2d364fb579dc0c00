// SPDX-License-Identifier: Apache-2.0
// Context of the page: skipped cases with reasons, time spent, environment, and how to read the page.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "reports/glossary.h"
#include "reports/html/html_parts.h"
#include "reports/profile.h"
#include "reports/text.h"
#include "reports/verdicts.h"

namespace assay::html {
namespace {

std::string HeaderRow(const std::vector<std::string>& cells) {
  std::string out = "<thead><tr>";
  for (const auto& cell : cells) out += "<th scope=\"col\">" + Escaped(cell) + "</th>";
  return out + "</tr></thead>\n";
}

std::string BackendTable(const RecordView& records) {
  std::set<std::tuple<std::string, std::string, std::string, std::string>> rows;
  for (const Record& r : records) {
    if (!r.device.empty()) rows.insert({r.backend, r.device, r.driver, r.library_version});
  }
  if (rows.empty()) return "";
  std::string out =
      "<div class=\"scroll\"><table class=\"plain\">" + HeaderRow({"backend", "device", "driver", "library"});
  for (const auto& [backend, device, driver, library] : rows) {
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n", Escaped(backend),
                       Escaped(device), Escaped(driver), Escaped(library));
  }
  return out + "</table></div>\n";
}

std::string ClassList() {
  std::string out = "<dl class=\"legend\">";
  for (const auto& [name, meaning] : ClassGlossary()) {
    out += fmt::format("<div><dt><code>{}</code></dt><dd>{}</dd></div>\n", name, Escaped(meaning));
  }
  return out + "</dl>\n";
}

std::string GlossaryList() {
  std::string out = "<dl class=\"legend glossary\">";
  for (const GlossaryTerm& term : Glossary()) {
    std::string id = term.name;
    std::ranges::replace(id, ' ', '-');
    out += fmt::format("<div id=\"term-{}\"><dt>{}</dt><dd>{}</dd></div>\n", id, term.name, Escaped(term.definition));
  }
  return out + "</dl>\n";
}

}  // namespace

std::string NotRunSection(const Page& page) {
  const Table reasons = ReasonsTable(page.records);
  if (reasons.rows.empty()) return "";
  std::string out =
      "<p class=\"note\">What a backend does not offer fails nothing. These are results, of which a case "
      "has one per backend that declines it.</p>\n<div class=\"scroll\"><table class=\"plain\">" +
      HeaderRow({"backend", "verdict", "results", "reason"});
  for (const auto& row : reasons.rows) {
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"r\">{}</td><td>{}</td></tr>\n",
                       Escaped(row[1]), Chip(row[2], row[2]), Escaped(row[0]), Escaped(row[3]));
  }
  return out + "</table></div>\n";
}

std::string ProfileSection(const Page& page) {
  const Table profile = ProfileTable(page.profile);
  if (profile.rows.empty()) return "";
  std::string out = "<p>" + Escaped(ProfileLine(page.profile)) +
                    ". Seconds of all threads, without what a phase is made of, and the share of the run.</p>\n"
                    "<div class=\"scroll\"><table class=\"plain\">" +
                    HeaderRow(profile.header);
  for (const auto& row : profile.rows) {
    out += "<tr><th scope=\"row\">" + Escaped(row[0]) + "</th>";
    for (size_t i = 1; i < row.size(); ++i) out += "<td class=\"r\">" + Escaped(row[i]) + "</td>";
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string EnvironmentSection(const Page& page) {
  std::string out = BackendTable(page.records);
  if (page.environment.empty()) return out + "<p class=\"note\">This run has no environment.json.</p>\n";
  out += "<div class=\"scroll\"><table class=\"plain environment\">\n";
  for (const auto& [name, value] : page.environment) {
    // Flags of a CPU and the like: there for who looks for them, folded away for everyone else.
    const std::string text = value.size() <= 160 ? Escaped(value)
                                                 : "<details><summary>" + Escaped(value.substr(0, 60)) + "…</summary>" +
                                                       Escaped(value) + "</details>";
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", Escaped(name), text);
  }
  return out + "</table></div>\n";
}

std::string LegendSection() {
  std::string out = "<div class=\"columns\"><div>\n<h3>Terms</h3>\n" + GlossaryList() +
                    "</div><div>\n<h3>Verdicts</h3>\n<dl class=\"legend\">";
  for (const VerdictStyle& style : VerdictStyles()) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", Chip(style.name, style.name), style.meaning);
  }
  return out + "</dl>\n<h3>Classes</h3>\n" + ClassList() +
         "<h3>Read on</h3>\n<p>What each channel catches, with a real fault for each: "
         "<code>harness/judge/README.md</code> of assay. <code>assay check</code> judges one dumped tensor and "
         "explains the verdict; the line below a failure repeats it.</p>\n</div></div>\n";
}

}  // namespace assay::html
