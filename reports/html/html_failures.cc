// SPDX-License-Identifier: Apache-2.0
// Failures, grouped by outcome, implementation and operator: one cause often fails many cases.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "harness/core/base/amounts.h"
#include "reports/deciding.h"
#include "reports/elements.h"
#include "reports/html/html_parts.h"
#include "reports/known.h"
#include "reports/text.h"
#include "reports/verdicts.h"

namespace assay::html {
namespace {

constexpr size_t kShownPerCluster = 2;
constexpr size_t kShownKnown = 20;
constexpr size_t kOpenClusters = 4;
constexpr size_t kShownElements = 3;  // the table of results shows all that a record holds

std::string ElementTable(const Record& r) {
  const WrongElements wrong = WrongElementsOf(r);
  if (wrong.rows.empty()) return "";
  std::string out = "<div class=\"scroll\"><table class=\"numbers\"><thead><tr>";
  for (const std::string& name : wrong.header) out += fmt::format("<th scope=\"col\">{}</th>", name);
  out += "</tr></thead>\n<tbody>";
  for (const auto& row : std::span(wrong.rows).first(std::min(wrong.rows.size(), kShownElements))) {
    out += "<tr>";
    for (const std::string& part : row) out += "<td>" + Escaped(part) + "</td>";
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string Failure(const Page& page, const Record& r) {
  std::string facts;
  if (const std::string check = DecidingText(DecidingCheckOf(r)); !check.empty()) {
    facts += " · decided by <b>" + Escaped(check) + "</b>";
  }
  if (r.bound_margin && DecidingCheckOf(r).name != "bound")
    facts += fmt::format(" · margin of the bound <b>{:.3g}</b>", *r.bound_margin);
  if (r.violations.value_or(0) > 0) {
    facts += fmt::format(" · {} of {} outside", *r.violations, Counted(r.elements.value_or(0), "element"));
  }
  if (r.bound_margin && !r.required_contract.empty())
    facts += " · requires " + Term("contract") + " <code>" + Escaped(r.required_contract) + "</code>";
  return fmt::format(
      "<article>\n<h4><a href=\"{}\">{}</a></h4>\n<p>{}<span class=\"quiet\">{}</span></p>\n{}{}</article>\n",
      Escaped(ResultFragment(page, r)), CaseIdHtml(r.case_id), Escaped(r.reason), facts, ElementTable(r),
      CopyBox(r.reproduce));
}

}  // namespace

std::string FailuresSection(const Page& page) {
  std::map<std::tuple<size_t, std::string, std::string, std::string>, std::vector<size_t>> clusters;
  ForEachRecord(page.records, [&](size_t index, const Record& r) {
    if (IsFailure(r)) clusters[{GravityOf(r.outcome), r.outcome, page.columns.NameOf(r), r.op}].push_back(index);
  });
  std::string out;
  size_t number = 0;
  for (const auto& [key, members] : clusters) {
    const auto& [gravity, outcome, column, op] = key;
    const size_t count = members.size();
    out += fmt::format(
        "<details class=\"cluster\"{}><summary><h3>{} <span>{}</span> {}</h3> <span class=\"quiet\">{}"
        "</span></summary>\n",
        number++ < kOpenClusters ? " open" : "", Chip(outcome, fmt::format("{} {}", count, outcome)), Escaped(column),
        Escaped(op), Escaped(page.records[members.front()].reason));
    for (size_t i = 0; i < std::min(count, kShownPerCluster); ++i) {
      out += Failure(page, page.records[members[i]]);
    }
    if (count > kShownPerCluster) {
      out += fmt::format("<p><a href=\"{}\">All {} of these in the table of results</a></p>\n",
                         Escaped(Fragment({{"op", op}, {"impl", column}, {"verdict", outcome}})), count);
    }
    out += "</details>\n";
  }
  return out.empty() ? out : "<div class=\"clusters\">\n" + out + "</div>\n";
}

std::string KnownSection(const Page& page) {
  std::string out;
  for (const KnownCause& cause : KnownCausesOf(page.records)) {
    const Record first = page.records[cause.members.front()];
    std::string links;
    for (const size_t i : std::span(cause.members).first(std::min(cause.members.size(), kShownKnown))) {
      const Record r = page.records[i];
      links += fmt::format("<li><a href=\"{}\">{}</a> {}</li>\n", Escaped(ResultFragment(page, r)),
                           CaseIdHtml(r.case_id), Escaped(page.columns.NameOf(r)));
    }
    const size_t more = cause.members.size() - std::min(cause.members.size(), kShownKnown);
    if (more > 0) {
      links += fmt::format("<li><a href=\"{}\">and {} more</a></li>\n",
                           Escaped(Fragment({{"verdict", first.outcome}, {"q", cause.where}})), more);
    }
    out += fmt::format(
        "<details class=\"cluster known\"><summary><h3>{} <span>{}</span></h3> <span "
        "class=\"why\">{}</span></summary>\n<p class=\"quiet\">{}</p><ul>{}</ul></details>\n",
        Chip(first.outcome, fmt::format("{} {}", cause.members.size(), first.outcome)), Escaped(first.backend),
        Escaped(cause.reason),
        Escaped(cause.waiver + (cause.waiver.empty() ? "" : "; ") + cause.where +
                (cause.read_on.empty() ? "" : "; read on: " + cause.read_on)),
        links);
  }
  if (out.empty()) return out;
  return "<p class=\"note\">Each is a " + Term("known failure") +
         ": a line of an expectation file explains it, so that it does not fail the run.</p>\n<div "
         "class=\"clusters\">\n" +
         out + "</div>\n";
}

}  // namespace assay::html
