// SPDX-License-Identifier: Apache-2.0
#include "reports/html/html.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>

#include "harness/core/base/json_text.h"
#include "reports/assets.h"
#include "reports/glossary.h"
#include "reports/html/html_parts.h"
#include "reports/profile.h"
#include "reports/text.h"
#include "reports/verdicts.h"

namespace assay {
namespace {

Json PairsOf(std::span<const GlossaryTerm> terms) {
  Json out = Json::array();
  for (const GlossaryTerm& term : terms) out.push_back({term.name, term.definition});
  return out;
}

Json VerdictsOf() {
  Json out = Json::array();
  for (const VerdictStyle& s : VerdictStyles()) {
    Record probe;
    probe.outcome = s.name;
    out.push_back({{"name", s.name},
                   {"symbol", s.symbol},
                   {"tone", s.tone},
                   {"meaning", s.meaning},
                   {"fails", IsFailure(probe)}});
  }
  return out;
}

// Text inside a script element, which ends at "</" and changes its rules at "<!--"; in JSON '<' occurs in texts only.
std::string ScriptSafe(const Json& data) {
  std::string safe;
  for (const char c : DumpJson(data)) {
    c == '<' ? safe += "\\u003c" : safe += c;
  }
  return safe;
}

}  // namespace

std::string html::MakePage(const std::string& title, std::string_view elsewhere, const Json& data,
                           std::string_view script) {
  return fmt::format(fmt::runtime(kPage), Escaped(title), kStyleSheet, elsewhere, ScriptSafe(data), script);
}

std::string HtmlReport(const RecordView& records, const std::string& environment_json,
                       const std::string& profile_json) {
  html::Page page{records, Columns(records), FlattenEnvironment(environment_json), {}};
  Json data = Json::object();
  html::AddHeader(page, environment_json, data);
  data["failures"] = html::FailuresOf(page);
  data["known"] = html::KnownFailuresOf(page);
  data["matrix"] = html::MatrixOf(page);
  data["timed"] = html::TimedCasesOf(page);
  data["sweeps"] = html::SweepCurvesOf(page);
  data["not_run"] = ReasonsTable(records).rows;
  if (const Table profile = ProfileTable(profile_json); !profile.rows.empty()) {
    data["profile"] = {{"line", ProfileLine(profile_json)}, {"head", profile.header}, {"rows", profile.rows}};
  }
  data["verdicts"] = VerdictsOf();
  data["glossary"] = PairsOf(Glossary());
  data["classes"] = PairsOf(ClassGlossary());
  html::AddRows(page, data);
  return html::MakePage(
      "assay: " + OutcomeLine(records),
      "summary.md beside it shows the run without any, and results.jsonl holds all records, one per line.", data,
      html::kScript);
}

}  // namespace assay
