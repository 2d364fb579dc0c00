// SPDX-License-Identifier: Apache-2.0
// The tables of reports/summary.h that are about time.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "reports/summary.h"

namespace assay {
namespace {

// Comparable times come first, then the shorter ones.
using Rank = std::pair<bool, double>;
Rank RankOf(const Record& r) {
  return {!Comparable(r), *GetBelievedSeconds(r)};
}

// The fastest implementation of each backend (and device) for each case; cases with the largest work first.
struct Fastest {
  struct Place {
    size_t index = 0;  // among the records
    Rank rank;
  };
  struct Case {
    double work = 0;
    std::map<size_t, Place> best, weaker;  // by backend: of what passed, and of weaker contracts
  };
  std::vector<std::string> ids, backends;

  Fastest(const RecordView& of, size_t limit) : records_(of) {
    const Columns columns(of);
    ForEachRecord(of, [&](size_t index, const Record& r) {
      if (!Timed(r) || !(r.verdict == "pass" || IsOfWeakerContract(r))) return;
      const std::string backend = columns.BackendOf(r);
      const auto known = std::ranges::find(backends, backend);
      const auto at = static_cast<size_t>(known - backends.begin());
      if (known == backends.end()) backends.push_back(backend);
      Case& item = cases_[r.case_id];
      item.work = std::max(r.flops.value_or(0), r.bytes.value_or(0));
      const Place place{index, RankOf(r)};
      const auto [slot, is_first] = (IsOfWeakerContract(r) ? item.weaker : item.best).try_emplace(at, place);
      if (!is_first && place.rank < slot->second.rank) slot->second = place;
    });
    std::vector<const std::pair<const std::string, Case>*> order;
    for (const auto& item : cases_) order.push_back(&item);
    std::ranges::stable_sort(order, std::greater<>(), [](const auto* item) { return item->second.work; });
    for (const auto* item : std::span(order).first(std::min(order.size(), limit))) ids.push_back(item->first);
  }

  std::optional<Record> Find(const std::string& id, const std::string& backend) const {
    return ReadAt(PlaceIn(&Case::best, id, backend));
  }

  // One of a weaker contract that took less time than any that passed.
  std::optional<Record> FindFasterOfWeaker(const std::string& id, const std::string& backend) const {
    const Place* const passed = PlaceIn(&Case::best, id, backend);
    const Place* const other = PlaceIn(&Case::weaker, id, backend);
    return ReadAt(other != nullptr && (passed == nullptr || other->rank < passed->rank) ? other : nullptr);
  }

 private:
  const Place* PlaceIn(std::map<size_t, Place> Case::*cells, const std::string& id, const std::string& backend) const {
    const auto& of = cases_.at(id).*cells;
    const auto it = of.find(static_cast<size_t>(std::ranges::find(backends, backend) - backends.begin()));
    return it == of.end() ? nullptr : &it->second;
  }
  std::optional<Record> ReadAt(const Place* place) const {
    return place == nullptr ? std::nullopt : std::optional(records_[place->index]);
  }

  RecordView records_;
  std::map<std::string, Case> cases_;
};

std::string Struck(const Record& r, const std::string& text) {
  return text.empty() || Comparable(r) ? text : "~~" + text + "~~";
}

std::string PerformanceCell(const Record& r) {
  std::string text = MedianTimeText(r);
  if (const std::string rate = RateText(r); !rate.empty()) text += " " + rate;
  if (const std::string roofline = RooflineText(r); !roofline.empty()) text += ", " + roofline;
  return fmt::format("{} ({})", Struck(r, text), r.implementation);
}

std::string PerformanceCell(const std::optional<Record>& passed, const std::optional<Record>& weaker) {
  std::string text = passed ? PerformanceCell(*passed) : "";
  if (weaker) text += (text.empty() ? "" : "; ") + std::string("weaker contract ") + PerformanceCell(*weaker);
  return text.empty() ? "-" : text;
}

std::string Given(const Number& value, const char* format, double scale = 1) {
  return value ? fmt::format(fmt::runtime(format), *value * scale) : "";
}

std::string Seconds(const Number& value) {
  return value ? TimeText(*value) : "";
}

void DropEmptyColumns(Table& table) {
  for (size_t column = table.header.size(); column-- > 0;) {
    if (std::ranges::any_of(table.rows, [&](const auto& row) { return !row[column].empty(); })) continue;
    const auto at = static_cast<std::ptrdiff_t>(column);
    table.header.erase(table.header.begin() + at);
    if (column < table.align.size()) table.align.erase(table.align.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
}

}  // namespace

std::string RooflineText(const Record& r) {
  if (!r.roofline_fraction) return "";
  return Given(r.roofline_fraction, "{:.0f} %", 100) + (r.bound_by.empty() ? "" : " " + r.bound_by);
}

Number EnergyJoules(const Record& r) {
  if (!r.package_power_w || !r.time_wall_s) return std::nullopt;
  return *r.package_power_w * *r.time_wall_s;
}

Table PerformanceTable(const RecordView& records, size_t limit) {
  const Fastest fastest(records, limit);
  std::vector<std::string> backends;  // in order of appearance among all records
  const Columns columns(records);
  for (const Record& r : records) {
    const std::string backend = columns.BackendOf(r);
    const bool timed = std::ranges::find(fastest.backends, backend) != fastest.backends.end();
    if (timed && std::ranges::find(backends, backend) == backends.end()) backends.push_back(backend);
  }
  Table table{{"case"}, {}, {}, Narrow::kStacked};
  table.header.insert(table.header.end(), backends.begin(), backends.end());
  for (const auto& id : fastest.ids) {
    std::vector<std::string> row{id};
    for (const auto& backend : backends) {
      row.push_back(PerformanceCell(fastest.Find(id, backend), fastest.FindFasterOfWeaker(id, backend)));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table LimitsTable(const RecordView& records, size_t limit) {
  const Fastest fastest(records, limit);
  Table table{{"case", "implementation", "warm", "cold", "of the roofline", "bound by", "launch", "upload GB/s",
               "download GB/s", "J"},
              {Align::kLeft, Align::kLeft},
              {}};
  table.align.resize(table.header.size(), Align::kRight);
  for (const auto& id : fastest.ids) {
    for (const auto& backend : fastest.backends) {
      const std::optional<Record> r = fastest.Find(id, backend);
      if (!r) continue;
      std::vector<std::string> row = {id,
                                      backend + ":" + r->implementation,
                                      MedianTimeText(*r),
                                      Seconds(r->time_cold_median_s),
                                      Given(r->roofline_fraction, "{:.0f} %", 100),
                                      r->bound_by,
                                      Given(r->launch_fraction, "{:.0f} %", 100),
                                      Given(r->upload_gbytes_per_s, "{:.3g}"),
                                      Given(r->download_gbytes_per_s, "{:.3g}"),
                                      Given(EnergyJoules(*r), "{:.3g}")};
      for (size_t column = 2; column < row.size(); ++column) row[column] = Struck(*r, row[column]);
      table.rows.push_back(std::move(row));
    }
  }
  DropEmptyColumns(table);
  return table;
}

std::vector<std::string> InvalidTimes(const RecordView& records) {
  const Columns columns(records);
  std::vector<std::string> lines;
  size_t more = 0;
  for (const Record& r : records) {
    if (r.timing_invalid.empty()) continue;
    if (lines.size() < kMostInvalidTimes) {
      lines.push_back(fmt::format("{}  {}: {}", columns.NameOf(r), r.case_id, r.timing_invalid));
    } else {
      ++more;
    }
  }
  if (more > 0) lines.push_back(fmt::format("and {} more: timing_invalid in results.jsonl", more));
  return lines;
}

}  // namespace assay
