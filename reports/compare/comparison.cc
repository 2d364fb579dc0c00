// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "harness/core/base/amounts.h"

namespace assay {
namespace {

bool Worsened(const ResultComparison& r) {
  return std::any_of(r.changes.begin(), r.changes.end(), [](const Change& c) { return c.trend == Trend::kWorse; });
}

// Smaller is graver.
std::tuple<int, size_t> RankOfChanged(const ResultComparison& r) {
  size_t first = SIZE_MAX;
  for (const Change& c : r.changes) first = std::min(first, static_cast<size_t>(c.aspect));
  return {IsGrave(r) ? 0 : Worsened(r) ? 1 : 2, first};
}

// The columns of the summary.
struct SummaryColumn {
  const char* heading;
  bool (*counts)(const Change&);
};
constexpr std::array<SummaryColumn, 12> kSummaryColumns = {{
    {"regressions", [](const Change& c) { return c.regression; }},
    {"lost", [](const Change& c) { return c.aspect == Aspect::kLost; }},
    {"verdict worse", [](const Change& c) { return c.aspect == Aspect::kVerdict && c.trend == Trend::kWorse; }},
    {"better", [](const Change& c) { return c.aspect == Aspect::kVerdict && c.trend == Trend::kBetter; }},
    {"support lost", [](const Change& c) { return c.aspect == Aspect::kSupport && c.base == "pass"; }},
    {"new",
     [](const Change& c) {
       return c.aspect == Aspect::kNew || (c.aspect == Aspect::kSupport && c.trend == Trend::kBetter);
     }},
    {"fewer bits", [](const Change& c) { return c.aspect == Aspect::kEffectiveBits && c.trend == Trend::kWorse; }},
    {"margin up", [](const Change& c) { return c.aspect == Aspect::kMargin && c.trend == Trend::kWorse; }},
    {"output bits", [](const Change& c) { return c.aspect == Aspect::kBits; }},
    {"slower", [](const Change& c) { return c.aspect == Aspect::kPerformance && c.trend == Trend::kWorse; }},
    {"faster", [](const Change& c) { return c.aspect == Aspect::kPerformance && c.trend == Trend::kBetter; }},
    {"time invalid", [](const Change& c) { return c.aspect == Aspect::kInvalidTime; }},
}};

bool WasCompared(const TimeComparison& time) {
  return time.verdict != TimeVerdict::kNotTimed && time.verdict != TimeVerdict::kInvalid;
}

struct SummaryRow {
  size_t in_both = 0, timed = 0, unsure = 0;
  std::array<size_t, kSummaryColumns.size()> counts{};  // results, not changes

  void Add(const ResultComparison& r) {
    in_both += r.in_both;
    timed += WasCompared(r.time);
    unsure += r.time.verdict == TimeVerdict::kUnsure;
    for (size_t c = 0; c < counts.size(); ++c) {
      counts[c] += std::any_of(r.changes.begin(), r.changes.end(), kSummaryColumns[c].counts);
    }
  }
};

std::string ValueText(const Change& c, const std::string& value) {
  const bool is_hash = c.field == "output_hash" || c.field == "input_hash";
  return is_hash ? value.substr(0, 8) : value;
}

std::string WhatText(const Change& c) {
  if (c.aspect == Aspect::kPerformance) return "time";
  return c.field == "outcome" ? Name(c.aspect) : c.field;
}

}  // namespace

bool IsGrave(const ResultComparison& r) {
  return std::any_of(r.changes.begin(), r.changes.end(), [](const Change& c) { return c.regression || c.incomplete; });
}

std::vector<const ResultComparison*> ChangedResults(const RunComparison& comparison) {
  std::vector<const ResultComparison*> changed;
  for (const ResultComparison& r : comparison.results) {
    if (!r.changes.empty()) changed.push_back(&r);
  }
  std::stable_sort(changed.begin(), changed.end(),
                   [](const auto* a, const auto* b) { return RankOfChanged(*a) < RankOfChanged(*b); });
  return changed;
}

std::string PercentText(double ratio) {
  return fmt::format("{:+.1f} %", (ratio - 1) * 100);
}

std::string DescribeAmount(const Change& c) {
  if (!c.amount) return c.detail;
  const std::string text = c.aspect == Aspect::kPerformance     ? PercentText(*c.amount)
                           : c.aspect == Aspect::kEffectiveBits ? fmt::format("{:+.1f}", *c.amount)
                           : std::isfinite(*c.amount)           ? fmt::format("x{:.2f}", *c.amount)
                                                                : std::string("was exact");
  return c.detail.empty() ? text : text + " " + c.detail;
}

std::string ComparisonLine(const RunComparison& comparison) {
  size_t in_both = 0, changed = 0, worse = 0, timed = 0, unsure = 0;
  for (const ResultComparison& r : comparison.results) {
    if (!r.in_both) continue;
    ++in_both;
    changed += !r.changes.empty();
    worse += Worsened(r);
    timed += WasCompared(r.time);
    unsure += r.time.verdict == TimeVerdict::kUnsure;
  }
  std::string line = Counted(comparison.Regressions(), "regression");
  if (const size_t lost = comparison.Incomplete(); lost > 0) line += fmt::format(", {} lost", Counted(lost, "result"));
  if (const size_t groups = comparison.CountRegressedGroups(); groups > 0) {
    line += fmt::format(", {} slower as a whole", Counted(groups, "operator"));
  }
  line += fmt::format("; {} in both runs, {} changed ({} worse)", Counted(in_both, "result"), changed, worse);
  if (timed > 0) line += fmt::format("; time: {} compared, {} of them UNSURE", timed, unsure);
  if (const size_t invalid = comparison.TimesInvalid(); invalid > 0) {
    line += fmt::format("; {} with a time that cannot be true: INVALID", Counted(invalid, "result"));
  }
  return line;
}

Table ComparisonSummary(const RunComparison& comparison) {
  std::map<std::pair<std::string, std::string>, SummaryRow> rows;
  for (const ResultComparison& r : comparison.results) rows[{r.backend, r.op}].Add(r);
  std::array<size_t, kSummaryColumns.size()> totals{};
  for (const auto& [key, row] : rows) {
    for (size_t c = 0; c < totals.size(); ++c) totals[c] += row.counts[c];
  }
  // Columns without a single count are left out.
  Table table{{"backend", "operator", "in both"}, {Align::kLeft, Align::kLeft, Align::kRight}, {}, Narrow::kColumns, 2};
  const auto add_heading = [&](const char* heading) {
    table.header.emplace_back(heading);
    table.align.push_back(Align::kRight);
  };
  for (size_t c = 0; c < totals.size(); ++c) {
    if (totals[c] > 0) add_heading(kSummaryColumns[c].heading);
  }
  const bool timed = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.second.timed > 0; });
  if (timed) add_heading("time unsure");
  for (const auto& [key, row] : rows) {
    std::vector<std::string> cells{key.first, key.second, std::to_string(row.in_both)};
    for (size_t c = 0; c < totals.size(); ++c) {
      if (totals[c] > 0) cells.push_back(row.counts[c] == 0 ? "-" : std::to_string(row.counts[c]));
    }
    if (timed) cells.push_back(row.timed == 0 ? "-" : fmt::format("{} of {}", row.unsure, row.timed));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table GroupsTable(const RunComparison& comparison) {
  const Align right = Align::kRight;
  Table table{{"backend", "operator", "results", "rounds", "typical time", "90 % interval", "decision"},
              {Align::kLeft, Align::kLeft, right, right, right, right, Align::kLeft},
              {},
              Narrow::kColumns,
              2};
  for (const GroupComparison& g : comparison.groups) {
    const TimeComparison& t = g.time;
    table.rows.push_back({g.backend, g.op.empty() ? "all" : g.op, std::to_string(g.results),
                          std::to_string(t.base_rounds), PercentText(t.ratio),
                          t.bounded ? fmt::format("{} to {}", PercentText(t.low), PercentText(t.high)) : "-",
                          Name(t.verdict) + std::string(g.regression ? ", a regression" : "")});
  }
  return table;
}

Table ChangesTable(const std::vector<const ResultComparison*>& results, size_t limit, size_t& left_out) {
  Table table{{"what", "base", "new", "", "implementation", "case"}, {}, {}};
  left_out = 0;
  for (const ResultComparison* r : results) {
    for (const Change& c : r->changes) {
      if (table.rows.size() >= limit) {
        ++left_out;
        continue;
      }
      table.rows.push_back(
          {WhatText(c), ValueText(c, c.base), ValueText(c, c.now), DescribeAmount(c), r->column, r->case_id});
    }
  }
  return table;
}

}  // namespace assay
