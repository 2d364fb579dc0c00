// SPDX-License-Identifier: Apache-2.0
// The verdict matrix: a row per operator and dtype, a column per backend (and device), in each cell one line per
// implementation. Implementations differ from operator to operator, so columns of their own would be mostly empty.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/core/base/amounts.h"
#include "reports/html/html_parts.h"
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
      "<span class=\"m\" title=\"worst margin of the bound of what passed\"><i style=\"width:{:.1f}%\"></i>{}</span>",
      MarginPercent(*margin), MarginText(*margin));
}

bool OnlyPasses(const Line& line) {
  return line.suspect == 0 && line.counts.size() == 1 && line.counts.begin()->first.second == "pass";
}

// Content of a line, for a link or a summary.
std::string LineContent(const std::string& name, const Line& line, std::string_view symbol) {
  return fmt::format("<b aria-hidden=\"true\">{}</b><span class=\"w\"><em>{}</em> {}</span>{}", symbol, Escaped(name),
                     Words(line), Margin(line.worst_margin));
}

std::string LineHtml(const std::string& op, const std::string& dtype, const std::string& backend,
                     const std::string& implementation, const Line& line) {
  const VerdictStyle& gravest = StyleOf(line.counts.begin()->first.second);
  const bool tinged = line.suspect > 0 && gravest.tone == "ok";
  return fmt::format(
      "<a class=\"line {}\" href=\"{}\">{}</a>", tinged ? "warn" : gravest.tone,
      Escaped(Fragment({{"op", op}, {"dtype", dtype}, {"impl", Column{backend, implementation}.Name()}})),
      LineContent(implementation, line, tinged ? "~" : gravest.symbol));
}

// Several implementations that only pass are one line until it is opened.
std::string PassingHtml(const Cell& passing, const std::string& lines) {
  Line sum;
  for (const auto& [name, line] : passing) {
    for (const auto& [outcome, count] : line.counts) sum.counts[outcome] += count;
    if (line.worst_margin) sum.worst_margin = std::max(sum.worst_margin.value_or(0), *line.worst_margin);
  }
  const VerdictStyle& style = StyleOf("pass");
  return fmt::format("<details class=\"passing\"><summary class=\"line {}\">{}</summary>{}</details>", style.tone,
                     LineContent(Counted(std::ssize(passing), "implementation"), sum, style.symbol), lines);
}

std::string CellHtml(const std::string& op, const std::string& dtype, const std::string& backend, const Cell& cell) {
  Cell passing;
  std::string passing_lines, other_lines;
  for (const auto& [implementation, line] : cell) {
    const bool passes = OnlyPasses(line);
    if (passes) passing.emplace(implementation, line);
    (passes ? passing_lines : other_lines) += LineHtml(op, dtype, backend, implementation, line);
  }
  return other_lines + (passing.size() > 1 ? PassingHtml(passing, passing_lines) : passing_lines);
}

std::map<std::string, DtypeRows> Collect(const Page& page) {
  std::map<std::string, DtypeRows> ops;
  for (const Record& r : page.records) {
    Line& line = ops[r.op][r.dtype][page.columns.BackendOf(r)][r.implementation];
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
    out += fmt::format("<td data-backend=\"{}\"{}>", Escaped(backend), cell == row.end() ? " class=\"none\"" : "");
    if (cell != row.end()) out += CellHtml(op, dtype, backend, cell->second);
    out += "</td>";
  }
  return out;
}

}  // namespace

std::string MatrixSection(const Page& page) {
  if (page.records.empty()) return "<p>There are no records.</p>\n";
  std::vector<std::string> backends;
  for (const Record& r : page.records) {
    std::string backend = page.columns.BackendOf(r);
    if (std::ranges::find(backends, backend) == backends.end()) backends.push_back(std::move(backend));
  }
  std::string out = "<p class=\"note\">One line per " + Term("implementation") +
                    "; those that only pass stand in one line, which opens. On the right the largest " +
                    Term("margin") + " of what passed against its " + Term("bound") +
                    ", with a bar on a logarithmic scale from 2<sup>-10</sup> to the limit 1, the same in all tables. "
                    "Follow a line to "
                    "its results.</p>\n<div class=\"scroll\"><table class=\"matrix\">\n<thead><tr><th scope=\"col\" "
                    "colspan=\"2\">Operator, dtype</th>";
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
