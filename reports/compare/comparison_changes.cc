// SPDX-License-Identifier: Apache-2.0
// The changes of a comparison, a table for each kind: times beside times, margins beside margins.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "reports/compare/comparison.h"

namespace assay {
namespace {

struct PlacedChange {
  const ResultComparison* result;
  const Change* change;
};
using PlacedChanges = std::vector<PlacedChange>;

constexpr Align kLeftAlign = Align::kLeft, kRightAlign = Align::kRight;

// "0.00123 s" of base and new.
std::optional<double> SecondsIn(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || std::string_view(end) != " s" || !std::isfinite(seconds)) return std::nullopt;
  return seconds;
}

struct TimeUnit {
  const char* name;
  double seconds;
};

// The one in which the longest time is at least 1.
TimeUnit UnitOf(const PlacedChanges& changes) {
  double longest = 0;
  for (const auto& [result, change] : changes) {
    longest = std::max({longest, SecondsIn(change->base).value_or(0), SecondsIn(change->now).value_or(0)});
  }
  for (const TimeUnit unit : {TimeUnit{"s", 1}, TimeUnit{"ms", 1e-3}}) {
    if (longest >= unit.seconds) return unit;
  }
  return {"µs", 1e-6};
}

std::string InUnit(const std::string& text, const TimeUnit& unit) {
  const auto seconds = SecondsIn(text);
  return seconds ? fmt::format("{:.4g}", *seconds / unit.seconds) : text;
}

Table TimesTable(const PlacedChanges& changes) {
  const TimeUnit unit = UnitOf(changes);
  Table table{{fmt::format("base, {}", unit.name), fmt::format("new, {}", unit.name), "change", "decision",
               "implementation", "case"},
              {kRightAlign, kRightAlign, kRightAlign, kLeftAlign},
              {}};
  for (const auto& [result, c] : changes) {
    table.rows.push_back({InUnit(c->base, unit), InUnit(c->now, unit), c->amount ? PercentText(*c->amount) : "",
                          c->detail, result->column, result->case_id});
  }
  return table;
}

Table BitsTable(const PlacedChanges& changes) {
  Table table{{"base, bits", "new, bits", "change, bits", "implementation", "case"},
              {kRightAlign, kRightAlign, kRightAlign},
              {}};
  for (const auto& [result, c] : changes) {
    table.rows.push_back(
        {c->base, c->now, c->amount ? fmt::format("{:+.1f}", *c->amount) : "", result->column, result->case_id});
  }
  return table;
}

std::string GrowthText(const Change& c) {
  if (!c.amount) return c.detail;
  return std::isfinite(*c.amount) ? fmt::format("{:.2f}", *c.amount) : "was exact";
}

Table MarginsTable(const PlacedChanges& changes) {
  Table table{{"what", "base", "new", "new / base", "implementation", "case"},
              {kLeftAlign, kRightAlign, kRightAlign, kRightAlign},
              {}};
  for (const auto& [result, c] : changes) {
    table.rows.push_back({c->field, c->base, c->now, GrowthText(*c), result->column, result->case_id});
  }
  return table;
}

Table WordsTable(const PlacedChanges& changes) {
  Table table{{"what", "base", "new", "implementation", "case", "why"}, {}, {}};
  for (const auto& [result, c] : changes) {
    const bool is_hash = c->aspect == Aspect::kBits;
    table.rows.push_back({c->field == "outcome" ? Name(c->aspect) : c->field, is_hash ? c->base.substr(0, 8) : c->base,
                          is_hash ? c->now.substr(0, 8) : c->now, result->column, result->case_id, c->detail});
  }
  return table;
}

struct Kind {
  const char* heading;
  bool (*holds)(Aspect);
  Table (*table)(const PlacedChanges&);
};

constexpr std::array<Kind, 5> kKinds = {{
    {"verdicts, support, classes, contracts and invalid times",
     [](Aspect a) {
       return a != Aspect::kPerformance && a != Aspect::kEffectiveBits && a != Aspect::kMargin && a != Aspect::kBits;
     },
     WordsTable},
    {"times", [](Aspect a) { return a == Aspect::kPerformance; }, TimesTable},
    {"effective bits of the accumulator", [](Aspect a) { return a == Aspect::kEffectiveBits; }, BitsTable},
    {"margins", [](Aspect a) { return a == Aspect::kMargin; }, MarginsTable},
    {"bits of inputs and outputs", [](Aspect a) { return a == Aspect::kBits; }, WordsTable},
}};

}  // namespace

std::vector<ChangesOfKind> ChangesByKind(const std::vector<const ResultComparison*>& results, size_t limit,
                                         size_t& left_out) {
  std::array<PlacedChanges, kKinds.size()> by_kind;
  size_t taken = 0;
  left_out = 0;
  for (const ResultComparison* result : results) {
    for (const Change& change : result->changes) {
      if (taken++ >= limit) {
        ++left_out;
        continue;
      }
      const auto kind = std::ranges::find_if(kKinds, [&](const Kind& k) { return k.holds(change.aspect); });
      by_kind[static_cast<size_t>(kind - kKinds.begin())].push_back({result, &change});
    }
  }
  std::vector<ChangesOfKind> tables;
  for (size_t k = 0; k < kKinds.size(); ++k) {
    if (!by_kind[k].empty()) tables.push_back({kKinds[k].heading, kKinds[k].table(by_kind[k])});
  }
  return tables;
}

}  // namespace assay
