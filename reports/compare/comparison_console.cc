// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "reports/colour.h"
#include "reports/compare/comparison.h"
#include "reports/text.h"

namespace assay {
namespace {

// Records may come from anywhere: no cell gets at the terminal.
Table PrintableTable(Table table) {
  for (auto& row : table.rows) {
    for (std::string& cell : row) cell = Printable(cell);
  }
  return table;
}

// A reason can be long; it has a line of its own.
std::string GraveText(const ResultComparison& r, const ComparisonStyle& style) {
  std::string out;
  for (const Change& c : r.changes) {
    if (!c.regression && !c.incomplete) continue;
    size_t none = 0;
    const Table one = ChangesTable({&r}, SIZE_MAX, none);
    const auto& cells = one.rows[static_cast<size_t>(&c - r.changes.data())];
    const std::string head = fmt::format("{}: {} -> {}", cells[0], cells[1].empty() ? "none" : cells[1], cells[2]);
    out += InColour(style.colour, "31", Printable(head)) +
           fmt::format("  {}  {}\n", Printable(cells[4]), Printable(cells[5]));
    if (!cells[3].empty()) out += Wrapped(Printable(cells[3]), style.width, 4) + "\n";
  }
  if (!r.reproduce.empty()) out += "    reproduce: " + Printable(r.reproduce) + "\n";
  return out;
}

}  // namespace

std::string ComparisonConsole(const RunComparison& comparison, const ComparisonStyle& style) {
  std::string out = fmt::format("base: {}\nnew:  {}\n", Printable(comparison.base), Printable(comparison.now));
  for (const std::string& note : comparison.notes) {
    out += InColour(style.colour, "33", Wrapped("note: " + Printable(note), style.width, 0)) + "\n";
  }
  const auto add = [&](const std::string& heading, const Table& table) {
    const TextStyle painted{style.width, style.colour ? PaintOutcomes : nullptr};
    out += "\n" + InColour(style.colour, kBold, heading) + "\n" + AsText(PrintableTable(table), painted);
  };

  std::vector<const ResultComparison*> grave, other;
  for (const ResultComparison* r : ChangedResults(comparison)) (IsGrave(*r) ? grave : other).push_back(r);
  size_t left_out = 0;
  for (const ChangesOfKind& kind : ChangesByKind(other, style.rows, left_out)) {
    add("No regression: " + kind.heading, kind.table);
  }
  if (left_out > 0) out += fmt::format("... and {} more; --rows, --markdown or --json show them\n", left_out);
  add("Results by backend and operator", ComparisonSummary(comparison));
  if (!comparison.groups.empty()) add("Times of groups, in turns", GroupsTable(comparison));
  if (!grave.empty()) out += "\n" + InColour(style.colour, kBold, "Regressions and lost results") + "\n";
  for (size_t i = 0; i < grave.size() && i < style.rows; ++i) out += GraveText(*grave[i], style);
  if (grave.size() > style.rows) {
    out += fmt::format("... and {} more; --rows, --markdown or --json show them\n", grave.size() - style.rows);
  }
  const bool good = grave.empty() && comparison.CountRegressedGroups() == 0;
  return out + "\n" + InColour(style.colour, good ? "32;1" : "31;1", ComparisonLine(comparison)) + "\n";
}

}  // namespace assay
