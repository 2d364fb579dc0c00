// SPDX-License-Identifier: Apache-2.0
// The tables of reports/summary.h that are about time.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/summary.h"

namespace assay {
namespace {

// What may be compared goes before what may not, then the shorter time.
std::pair<bool, double> RankOf(const Record& r) {
  return {!Comparable(r), *r.time_median_s};
}

// The fastest implementation of each backend (and device) for each case; cases with the largest work first.
struct Fastest {
  std::vector<std::string> ids, backends;
  using Cells = std::map<std::string, std::map<std::string, const Record*>>;  // case -> backend
  Cells best, weaker;                                                         // of what passed, and of weaker contracts

  Fastest(const std::vector<Record>& records, size_t limit) {
    const std::vector<Column> columns = ColumnsOf(records);
    std::map<std::string, double> work;
    for (size_t i = 0; i < records.size(); ++i) {
      const Record& r = records[i];
      if (!Timed(r) || !(r.verdict == "pass" || IsOfWeakerContract(r))) continue;
      const std::string& backend = columns[i].backend;
      if (std::ranges::find(backends, backend) == backends.end()) backends.push_back(backend);
      work[r.case_id] = std::max(r.flops.value_or(0), r.bytes.value_or(0));
      best.try_emplace(r.case_id);
      const Record*& slot = (IsOfWeakerContract(r) ? weaker : best)[r.case_id][backend];
      if (slot == nullptr || RankOf(r) < RankOf(*slot)) slot = &r;
    }
    for (const auto& [id, cells] : best) ids.push_back(id);
    std::ranges::stable_sort(ids, [&](const auto& a, const auto& b) { return work[a] > work[b]; });
    if (ids.size() > limit) ids.resize(limit);
  }

  const Record* Find(const std::string& id, const std::string& backend) const { return FindIn(best, id, backend); }

  // One of a weaker contract that took less time than any that passed.
  const Record* FindFasterOfWeaker(const std::string& id, const std::string& backend) const {
    const Record* const passed = Find(id, backend);
    const Record* const other = FindIn(weaker, id, backend);
    return other != nullptr && (passed == nullptr || RankOf(*other) < RankOf(*passed)) ? other : nullptr;
  }

 private:
  static const Record* FindIn(const Cells& of, const std::string& id, const std::string& backend) {
    const auto cells = of.find(id);
    if (cells == of.end()) return nullptr;
    const auto it = cells->second.find(backend);
    return it == cells->second.end() ? nullptr : it->second;
  }
};

std::string Struck(const Record& r, const std::string& text) {
  return text.empty() || Comparable(r) ? text : "~~" + text + "~~";
}

std::string PerformanceCell(const Record& r) {
  std::string text = TimeText(*r.time_median_s);
  if (const std::string rate = RateText(r); !rate.empty()) text += " " + rate;
  if (const std::string roofline = RooflineText(r); !roofline.empty()) text += ", " + roofline;
  return fmt::format("{} ({})", Struck(r, text), r.implementation);
}

std::string PerformanceCell(const Record* passed, const Record* weaker) {
  std::string text = passed == nullptr ? "" : PerformanceCell(*passed);
  if (weaker != nullptr)
    text += (text.empty() ? "" : "; ") + std::string("weaker contract ") + PerformanceCell(*weaker);
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

Number CostPerMillion(const Record& r) {
  if (!r.price_per_hour || !r.time_median_s) return std::nullopt;
  return *r.price_per_hour / 3600 * r.time_wall_s.value_or(*r.time_median_s) * 1e6;
}

Number EnergyJoules(const Record& r) {
  if (!r.package_power_w || !r.time_wall_s) return std::nullopt;
  return *r.package_power_w * *r.time_wall_s;
}

Table PerformanceTable(const std::vector<Record>& records, size_t limit) {
  const Fastest fastest(records, limit);
  std::vector<std::string> backends;  // in order of appearance among all records
  for (const Column& column : ColumnsOf(records)) {
    const bool timed = std::ranges::find(fastest.backends, column.backend) != fastest.backends.end();
    if (timed && std::ranges::find(backends, column.backend) == backends.end()) backends.push_back(column.backend);
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

Table LimitsTable(const std::vector<Record>& records, size_t limit) {
  const Fastest fastest(records, limit);
  Table table{{"case", "implementation", "warm", "cold", "of the roofline", "bound by", "launch", "upload GB/s",
               "download GB/s", "cost of 10^6", "J"},
              {Align::kLeft, Align::kLeft},
              {}};
  table.align.resize(table.header.size(), Align::kRight);
  for (const auto& id : fastest.ids) {
    for (const auto& backend : fastest.backends) {
      const Record* r = fastest.Find(id, backend);
      if (r == nullptr) continue;
      std::vector<std::string> row = {id,
                                      backend + ":" + r->implementation,
                                      Seconds(r->time_median_s),
                                      Seconds(r->time_cold_median_s),
                                      Given(r->roofline_fraction, "{:.0f} %", 100),
                                      r->bound_by,
                                      Given(r->launch_fraction, "{:.0f} %", 100),
                                      Given(r->upload_gbytes_per_s, "{:.3g}"),
                                      Given(r->download_gbytes_per_s, "{:.3g}"),
                                      Given(CostPerMillion(*r), "{:.3g}"),
                                      Given(EnergyJoules(*r), "{:.3g}")};
      for (size_t column = 2; column < row.size(); ++column) row[column] = Struck(*r, row[column]);
      table.rows.push_back(std::move(row));
    }
  }
  DropEmptyColumns(table);
  return table;
}

int64_t CountInvalidTimes(const std::vector<Record>& records) {
  return std::ranges::count_if(records, [](const Record& r) { return !r.timing_invalid.empty(); });
}

std::vector<std::string> InvalidTimes(const std::vector<Record>& records) {
  const std::vector<Column> columns = ColumnsOf(records);
  std::vector<std::string> lines;
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& r = records[i];
    if (!r.timing_invalid.empty()) {
      lines.push_back(fmt::format("{}  {}: {}", columns[i].Name(), r.case_id, r.timing_invalid));
    }
  }
  if (lines.size() > kMostInvalidTimes) {
    const size_t more = lines.size() - kMostInvalidTimes;
    lines.resize(kMostInvalidTimes);
    lines.push_back(fmt::format("and {} more: timing_invalid in results.jsonl", more));
  }
  return lines;
}

}  // namespace assay
