// SPDX-License-Identifier: Apache-2.0
// The verdict matrix: a row per operator and dtype, a column per backend (and device), in each cell one line per
// implementation. Implementations differ from operator to operator, so columns of their own would be mostly empty.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/html_parts.h"
#include "reports/text.h"
#include "reports/verdicts.h"

namespace assay::html {
namespace {

struct Line {
  std::map<std::pair<size_t, std::string>, int64_t> counts;  // by gravity and outcome
  int64_t suspect = 0;
  Number worst_margin;  // of what passed
};

using Cell = std::map<std::string, Line>;      // by implementation
using Row = std::map<std::string, Cell>;       // by backend
using DtypeRows = std::map<std::string, Row>;  // of one operator

std::string Words(const Line& line) {
  std::string out;
  for (const auto& [outcome, count] : line.counts) {
    if (!out.empty()) out += ", ";
    out += fmt::format("{} {}", count, Escaped(outcome.second));
  }
  return line.suspect > 0 ? fmt::format("{} ({} suspect)", out, line.suspect) : out;
}

// The largest share of the tolerance that a passing result used, as a number above a thin bar.
std::string Margin(const Number& margin) {
  if (!margin || !std::isfinite(*margin)) return "<span class=\"m\"></span>";
  return fmt::format(
      "<span class=\"m\" title=\"worst |error| / bound of what passed\"><i style=\"width:{:.1f}%\"></i>{}</span>",
      100 * std::clamp(*margin, 0.0, 1.0), MarginText(*margin));
}

std::string LineHtml(const std::string& op, const std::string& dtype, const std::string& backend,
                     const std::string& implementation, const Line& line) {
  const VerdictStyle& gravest = StyleOf(line.counts.begin()->first.second);
  const bool tinged = line.suspect > 0 && gravest.tone == "ok";
  return fmt::format(
      "<a class=\"line {}\" href=\"#cases\" data-op=\"{}\" data-dtype=\"{}\" data-column=\"{}\"><b "
      "aria-hidden=\"true\">{}</b><span class=\"w\"><em>{}</em> {}</span>{}</a>",
      tinged ? "warn" : gravest.tone, Escaped(op), Escaped(dtype), Escaped(Column{backend, implementation}.Name()),
      tinged ? "~" : gravest.symbol, Escaped(implementation), Words(line), Margin(line.worst_margin));
}

std::map<std::string, DtypeRows> Collect(const Page& page) {
  std::map<std::string, DtypeRows> ops;
  for (size_t i = 0; i < page.records.size(); ++i) {
    const Record& r = page.records[i];
    Line& line = ops[r.op][r.dtype][page.columns[i].backend][r.implementation];
    // An outcome that this version does not know counts as an error.
    const size_t gravity = GravityOf(r.outcome);
    ++line.counts[{gravity < VerdictStyles().size() ? gravity : GravityOf("error"), r.outcome}];
    if (r.result_class == "suspect") ++line.suspect;
    if (r.outcome == "pass" && r.bound_margin) {
      line.worst_margin = std::max(line.worst_margin.value_or(0), *r.bound_margin);
    }
  }
  return ops;
}

std::string RowHtml(const std::string& op, const std::string& dtype, const Row& row,
                    const std::vector<std::string>& backends) {
  std::string out = "<th scope=\"row\">" + Escaped(dtype) + "</th>";
  for (const std::string& backend : backends) {
    const auto cell = row.find(backend);
    out += cell == row.end() ? "<td class=\"none\">" : "<td>";
    if (cell != row.end()) {
      for (const auto& [implementation, line] : cell->second) {
        out += LineHtml(op, dtype, backend, implementation, line);
      }
    }
    out += "</td>";
  }
  return out;
}

}  // namespace

std::string MatrixSection(const Page& page) {
  if (page.records.empty()) return "<p>There are no records.</p>\n";
  std::vector<std::string> backends;
  for (const Column& column : page.columns) {
    if (std::find(backends.begin(), backends.end(), column.backend) == backends.end())
      backends.push_back(column.backend);
  }
  std::string out =
      "<p class=\"note\">One line per implementation. On the right, the largest share of the tolerance that a passing "
      "result used: 1 is the limit. Follow a line to its results.</p>\n<div class=\"scroll\"><table "
      "class=\"matrix\">\n<thead><tr><th scope=\"col\" colspan=\"2\">Operator, dtype</th>";
  for (const std::string& backend : backends) out += "<th scope=\"col\">" + Escaped(backend) + "</th>";
  out += "</tr></thead>\n";
  for (const auto& [op, rows] : Collect(page)) {
    out += "<tbody>\n";
    bool first = true;
    for (const auto& [dtype, row] : rows) {
      out += "<tr>";
      if (first) out += fmt::format("<th scope=\"rowgroup\" rowspan=\"{}\">{}</th>", rows.size(), Escaped(op));
      first = false;
      out += RowHtml(op, dtype, row, backends) + "</tr>\n";
    }
    out += "</tbody>\n";
  }
  return out + "</table></div>\n";
}

}  // namespace assay::html
