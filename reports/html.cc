// SPDX-License-Identifier: Apache-2.0
#include "reports/html.h"

#include <fmt/format.h>

#include "reports/assets.h"
#include "reports/html_parts.h"
#include "reports/text.h"
#include "reports/verdicts.h"

namespace assay {
namespace html {

std::string Chip(std::string_view outcome, std::string_view text) {
  const VerdictStyle& style = StyleOf(outcome);
  return fmt::format("<span class=\"chip {}\"><b aria-hidden=\"true\">{}</b> {}</span>", style.tone, style.symbol,
                     Escaped(text));
}

std::string CaseIdHtml(const std::string& case_id) {
  std::string out;
  for (char c : Escaped(case_id)) {
    out += c;
    if (c == '/' || c == ',') out += "<wbr>";
  }
  return "<code class=\"id\">" + out + "</code>";
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
<a class="skip" href="#verdicts">Skip to the verdicts</a>
)";

std::string Navigation(const std::vector<Section>& sections) {
  std::string out = "<nav aria-label=\"Sections\"><div class=\"wrap\"><b>assay</b>";
  for (const Section& s : sections) {
    if (!s.html.empty()) out += fmt::format("<a href=\"#{}\">{}</a>", s.id, s.title);
  }
  return out + "</div></nav>\n";
}

}  // namespace

std::string HtmlReport(const std::vector<Record>& records, const std::string& environment_json,
                       const std::string& profile_json) {
  const html::Page page{records, ColumnsOf(records), FlattenEnvironment(environment_json), profile_json};
  const std::vector<Section> sections = {
      {"verdicts", "Verdicts", html::MatrixSection(page)},
      {"failures", "Failures", html::FailuresSection(page)},
      {"cases", "All results", html::CasesSection(page)},
      {"sweep", "Sweep", html::SweepSection(page)},
      {"performance", "Performance", html::PerformanceSection(page)},
      {"not-run", "Not run", html::NotRunSection(page)},
      {"profile", "Profile", html::ProfileSection(page)},
      {"environment", "Environment", html::EnvironmentSection(page)},
      {"legend", "How to read this", html::LegendSection()},
  };
  std::string out = fmt::format(fmt::runtime(kHead), Escaped("assay: " + OutcomeLine(records)), html::kStyleSheet);
  out += html::HeaderSection(page) + Navigation(sections) + "<main class=\"wrap\">\n";
  for (const Section& s : sections) {
    if (s.html.empty()) continue;
    out += fmt::format("<section id=\"{}\" aria-labelledby=\"{}-title\">\n<h2 id=\"{}-title\">{}</h2>\n{}</section>\n",
                       s.id, s.id, s.id, s.title, s.html);
  }
  out += "</main>\n<script type=\"application/json\" id=\"data\">" + html::EmbeddedData(page) + "</script>\n";
  return out + fmt::format("<script>\n'use strict';\n{}</script>\n</body>\n</html>\n", html::kScript);
}

}  // namespace assay
