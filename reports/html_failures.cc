// SPDX-License-Identifier: Apache-2.0
// What failed, gathered by outcome, implementation and operator: one cause often fails many cases.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>

#include "reports/html_parts.h"
#include "reports/text.h"
#include "reports/verdicts.h"

namespace assay::html {
namespace {

constexpr size_t kShownPerCluster = 4;
constexpr size_t kOpenClusters = 6;
constexpr size_t kShownElements = 3;  // the table of results shows all that a record holds

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string WorstElements(const Record& r) {
  if (r.worst_elements.empty()) return "";
  std::string rows;
  std::vector<std::string> elements = Split(r.worst_elements, ';');
  elements.resize(std::min(elements.size(), kShownElements));
  for (const std::string& element : elements) {
    rows += "<tr>";
    for (const std::string& part : Split(element, ':')) rows += "<td>" + Escaped(part) + "</td>";
    rows += "</tr>\n";
  }
  return "<table class=\"numbers\"><thead><tr><th scope=\"col\">worst index</th><th scope=\"col\">got</th><th "
         "scope=\"col\">golden</th><th scope=\"col\">tolerance</th></tr></thead>\n<tbody>" +
         rows + "</tbody></table>\n";
}

std::string Failure(const Record& r, size_t index) {
  std::string facts;
  if (r.bound_margin) facts += fmt::format(" · |error| / bound <b>{:.3g}</b>", *r.bound_margin);
  if (r.outliers) facts += fmt::format(" · {} of {} elements outside", *r.outliers, r.elements.value_or(0));
  if (r.bound_margin && !r.required_contract.empty())
    facts += " · requires <code>" + Escaped(r.required_contract) + "</code>";
  return fmt::format(
      "<article>\n<h4><a href=\"#r{}\">{}</a></h4>\n<p>{}<span class=\"quiet\">{}</span></p>\n{}{}</article>\n", index,
      CaseIdHtml(r.case_id), Escaped(r.reason), facts, WorstElements(r), CopyBox(r.reproduce));
}

}  // namespace

std::string FailuresSection(const Page& page) {
  std::map<std::tuple<size_t, std::string, std::string, std::string>, std::vector<size_t>> clusters;
  for (size_t i = 0; i < page.records.size(); ++i) {
    const Record& r = page.records[i];
    if (IsFailure(r)) clusters[{GravityOf(r.outcome), r.outcome, page.columns[i].Name(), r.op}].push_back(i);
  }
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
      out += Failure(page.records[members[i]], members[i]);
    }
    if (count > kShownPerCluster) {
      out += fmt::format(
          "<p><a href=\"#cases\" data-op=\"{}\" data-outcome=\"{}\" data-column=\"{}\">All {} of these "
          "in the table of results</a></p>\n",
          Escaped(op), Escaped(outcome), Escaped(column), count);
    }
    out += "</details>\n";
  }
  return out.empty() ? out : "<div class=\"clusters\">\n" + out + "</div>\n";
}

}  // namespace assay::html
