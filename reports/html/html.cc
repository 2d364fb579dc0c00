// SPDX-License-Identifier: Apache-2.0
#include "reports/html/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/assets.h"
#include "reports/glossary.h"
#include "reports/html/html_parts.h"
#include "reports/run_notes.h"
#include "reports/text.h"
#include "reports/verdicts.h"

namespace assay {
namespace html {

std::string Chip(std::string_view outcome, std::string_view text) {
  const VerdictStyle& style = StyleOf(outcome);
  return fmt::format("<span class=\"chip {}\" title=\"{}\"><b aria-hidden=\"true\">{}</b> {}</span>", style.tone,
                     Escaped(style.meaning), style.symbol, Escaped(text));
}

std::string CaseIdHtml(const std::string& case_id) {
  std::string out;
  for (char c : Escaped(case_id)) {
    out += c;
    if (c == '/' || c == ',') out += "<wbr>";
  }
  return "<code class=\"id\">" + out + "</code>";
}

std::string Term(std::string_view name, std::string_view text) {
  std::string id(name);
  std::ranges::replace(id, ' ', '-');
  return fmt::format("<a class=\"term\" href=\"#term-{}\" title=\"{}\">{}</a>", id, Escaped(DefinitionOf(name)),
                     Escaped(text.empty() ? name : text));
}

std::string Fragment(const Parameters& parameters) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~/,=:";
  std::string out;
  for (const auto& [key, value] : parameters) {
    if (value.empty()) continue;
    out += fmt::format("{}{}=", out.empty() ? "#" : "&", key);
    for (const char c : value) {
      out += kPlain.find(c) != kPlain.npos ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out.empty() ? "#cases" : out;
}

std::string ResultFragment(const Page& page, const Record& record) {
  return Fragment({{"case", record.case_id}, {"on", page.columns.NameOf(record)}});
}

double MarginPercent(double margin) {
  if (!(margin > 0)) return 0;
  return 100 * std::clamp(1 + std::log2(margin) / 10, 0.03, 1.0);
}

std::string CopyBox(const std::string& command) {
  if (command.empty()) return "";
  return "<div class=\"copy\"><code>" + Escaped(command) + "</code></div>";
}

}  // namespace html

namespace {

struct Section {
  const char* id;
  const char* title;
  std::string html;
};

// The page can load nothing, whatever a record holds; its own style and script are inline.
constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{}</title>
<style>
{}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the results</a>
)";

std::string Navigation(const std::vector<Section>& sections) {
  std::string out = "<nav aria-label=\"Sections\"><div class=\"wrap\"><b>assay</b>";
  for (const Section& s : sections) {
    if (!s.html.empty()) out += fmt::format("<a href=\"#{}\">{}</a>", s.id, s.title);
  }
  return out + "</div></nav>\n";
}

}  // namespace

std::string HtmlReport(const RecordView& records, const std::string& environment_json,
                       const std::string& profile_json) {
  const html::Page page{records, Columns(records), FlattenEnvironment(environment_json), profile_json,
                        RunNotes(records, environment_json)};
  const std::vector<Section> sections = {
      {"failures", "Failures", html::FailuresSection(page)},
      {"known", "Known failures", html::KnownSection(page)},
      {"verdicts", "Verdicts", html::MatrixSection(page)},
      {"cases", "All results", html::CasesSection(page)},
      {"sweep", "Sweep", html::SweepSection(page)},
      {"performance", "Performance", html::PerformanceSection(page)},
      {"not-run", "Not run", html::NotRunSection(page)},
      {"profile", "Profile", html::ProfileSection(page)},
      {"environment", "Environment", html::EnvironmentSection(page)},
      {"legend", "How to read this", html::LegendSection()},
  };
  std::string out = fmt::format(fmt::runtime(kHead), Escaped("assay: " + OutcomeLine(records)), html::kStyleSheet);
  out += html::HeaderSection(page) + Navigation(sections) + "<main class=\"wrap\" id=\"content\">\n";
  for (const Section& s : sections) {
    if (s.html.empty()) continue;
    out += fmt::format("<section id=\"{}\" aria-labelledby=\"{}-title\">\n<h2 id=\"{}-title\">{}</h2>\n{}</section>\n",
                       s.id, s.id, s.id, s.title, s.html);
  }
  out += "</main>\n<script type=\"application/json\" id=\"data\">" + html::EmbeddedData(page) + "</script>\n";
  return out + fmt::format("<script>\n'use strict';\n{}</script>\n</body>\n</html>\n", html::kScript);
}

}  // namespace assay
