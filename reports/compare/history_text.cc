// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "harness/core/base/amounts.h"
#include "harness/core/base/json_text.h"
#include "reports/assets.h"
#include "reports/colour.h"
#include "reports/compare/comparison.h"
#include "reports/compare/run_history.h"
#include "reports/html/html.h"
#include "reports/text.h"

namespace assay {
namespace {

std::vector<std::string> MakeRow(const HistoryChange& c) {
  const Change& change = c.change;
  std::vector<std::string> row{Name(change.aspect),
                               fmt::format("{} -> {}", change.base.empty() ? "none" : change.base, change.now),
                               c.column, c.case_id, DescribeAmount(change)};
  for (std::string& cell : row) cell = Printable(cell);
  return row;
}

// The changes between one pair of runs.
std::string DescribeStep(const RunHistory& history, std::span<const HistoryChange> changes, const HistoryStyle& style) {
  const HistoryChange& first = changes.front();
  std::string out =
      "\n" +
      InColour(style.colour, kBold,
               Printable(fmt::format("{}, after {}", history.runs[first.run], history.runs[first.before]))) +
      "\n";
  const std::vector<std::string>& differences = history.differences.at({first.run, first.before});
  for (const std::string& line : differences) out += Wrapped("differs in " + Printable(line), style.width, 2) + "\n";
  if (differences.empty()) out += "  differs in nothing that environment.json says\n";
  Table table;
  for (const HistoryChange& c : changes.first(std::min(style.rows, changes.size()))) table.rows.push_back(MakeRow(c));
  table.header = {"what", "before -> now", "implementation", "case", ""};
  out += AsText(table, {style.width, style.colour ? PaintOutcomes : nullptr});
  if (changes.size() > style.rows) {
    out += fmt::format("... and {} more; --rows or --json show them\n", changes.size() - style.rows);
  }
  return out;
}

std::string SummaryLine(const RunHistory& history) {
  // A record without an implementation, of a crash say, is no result of its own, but may be a change.
  const size_t results = std::max(history.results, history.changed);
  return fmt::format("{} in {} runs: {} changed, {} did not; {}", Counted(static_cast<int64_t>(results), "result"),
                     history.runs.size(), history.changed, results - history.changed, history.times);
}

Json ChangeObject(const RunHistory& history, const HistoryChange& c) {
  const auto number = [](const Number& value) { return value && std::isfinite(*value) ? Json(*value) : Json(nullptr); };
  return {{"run", history.runs[c.run]},
          {"after", history.runs[c.before]},
          {"case_id", c.case_id},
          {"op", c.op},
          {"backend", c.backend},
          {"device", c.device},
          {"implementation", c.implementation},
          {"aspect", Name(c.change.aspect)},
          {"trend", Name(c.change.trend)},
          {"field", c.change.field},
          {"before", c.change.base},
          {"now", c.change.now},
          {"amount", number(c.change.amount)},
          {"detail", c.change.detail},
          {"reproduce", c.reproduce}};
}

Json HistoryData(const RunHistory& history) {
  Json out;
  out["schema_version"] = 1;
  out["newest_is_worse"] = history.IsNewestWorse();
  out["results"] = history.results;
  out["changed"] = history.changed;
  out["times"] = history.times;
  out["notes"] = history.notes;
  out["runs"] = Json::array();
  for (size_t i = 0; i < history.runs.size(); ++i) {
    out["runs"].push_back({{"name", history.runs[i]}, {"started", history.started[i]}});
  }
  out["changes"] = Json::array();
  for (const HistoryChange& c : history.changes) out["changes"].push_back(ChangeObject(history, c));
  out["differences"] = Json::array();
  for (const auto& [pair, lines] : history.differences) {
    out["differences"].push_back(
        {{"run", history.runs[pair.first]}, {"after", history.runs[pair.second]}, {"differs_in", lines}});
  }
  return out;
}

}  // namespace

std::string HistoryConsole(const RunHistory& history, const HistoryStyle& style) {
  Table runs{{"run", "began"}, {}, {}};
  for (size_t i = 0; i < history.runs.size(); ++i) {
    runs.rows.push_back({Printable(history.runs[i]), Printable(history.started[i])});
  }
  std::string out = AsText(runs, {style.width, nullptr});
  for (const std::string& note : history.notes) {
    out += InColour(style.colour, "33", Wrapped("note: " + Printable(note), style.width, 0)) + "\n";
  }
  const std::span<const HistoryChange> all = history.changes;
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin + 1;
    while (end < all.size() && all[end].run == all[begin].run && all[end].before == all[begin].before) ++end;
    out += DescribeStep(history, all.subspan(begin, end - begin), style);
    begin = end;
  }
  return out + "\n" + InColour(style.colour, history.IsNewestWorse() ? "31;1" : "1", SummaryLine(history)) + "\n";
}

std::string HistoryJson(const RunHistory& history, int exit_code) {
  Json out = HistoryData(history);
  out["exit_code"] = exit_code;
  return DumpJson(out, 2) + "\n";
}

std::string HistoryPage(const RunHistory& history) {
  return html::MakePage("assay: " + SummaryLine(history), "assay history without --html prints the same.",
                        HistoryData(history), html::kHistoryScript);
}

}  // namespace assay
