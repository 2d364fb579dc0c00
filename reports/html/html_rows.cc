// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/deciding.h"
#include "reports/html/html_parts.h"

namespace assay::html {
namespace {

// Seven digits are more than the page shows; results.jsonl has them all.
double Shortened(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return std::strtod(text, nullptr);
}

Json NumberJson(double value) {
  if (std::isfinite(value)) return Shortened(value);
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

std::string MarginOfOutput(const Number& margin) {
  return margin ? fmt::format("{:.3g}", *margin) : std::string();
}

// "name:verdict:class:bound:exact:statistic:exceptional:relations" joined by ';': a row each.
std::string OutputsText(const std::vector<OutputRecord>& outputs) {
  std::string text;
  for (const OutputRecord& o : outputs) {
    text += fmt::format("{}{}:{}:{}:{}:{}:{}:{}:{}", text.empty() ? "" : ";", o.name, o.verdict, o.result_class,
                        MarginOfOutput(o.bound_margin), MarginOfOutput(o.exact_margin), MarginOfOutput(o.stat_margin),
                        MarginOfOutput(o.exceptional_margin), MarginOfOutput(o.metamorphic_margin));
  }
  return text;
}

struct Value {
  std::string key;
  Json value;
  bool is_text = false;
};

struct FieldReader {
  std::vector<Value>& values;
  void Put(const char* key, Json value, bool text = false) const { values.push_back({key, std::move(value), text}); }
  void operator()(const char* key, const std::string& value) const { Put(key, value, true); }
  void operator()(const char* key, int64_t value) const { Put(key, value); }
  // Written as text, because numbers in JavaScript are exact only up to 2^53.
  void operator()(const char* key, uint64_t value) const { Put(key, std::to_string(value), true); }
  void operator()(const char* key, const Number& value) const { Put(key, value ? NumberJson(*value) : Json()); }
  void operator()(const char* key, const std::optional<int64_t>& value) const {
    Put(key, value ? Json(*value) : Json());
  }
  void operator()(const char* key, const std::optional<bool>& value) const { Put(key, value ? Json(*value) : Json()); }
  void operator()(const char* key, const std::vector<OutputRecord>& outputs) const {
    Put(key, OutputsText(outputs), true);
  }
};

// Values of one row of the table.
std::vector<Value> ValuesOf(const Page& page, const Record& record) {
  std::vector<Value> values;
  const FieldReader reader{values};
  const DecidingCheck check = DecidingCheckOf(record);
  reader("shown_as", page.columns.NameOf(record));
  reader("deciding_check", std::string(check.name));
  reader("deciding_margin", check.margin);
  VisitFields(record, reader);
  return values;
}

// Distinct texts, each with a number.
class Texts {
 public:
  size_t IndexOf(const std::string& text) {
    const auto [it, added] = index_.emplace(text, index_.size());
    if (added) list_.push_back(text);
    return it->second;
  }
  Json& list() { return list_; }

 private:
  std::map<std::string, size_t> index_;
  Json list_ = Json::array();
};

}  // namespace

std::vector<size_t> ChooseRows(const RecordView& records, size_t most, const std::set<size_t>& named) {
  const auto is_plain = [](const Record& r) {
    return (r.outcome == "pass" && r.result_class != "suspect" && r.timing_invalid.empty()) ||
           r.outcome == "unsupported";
  };
  size_t plain = 0;
  ForEachRecord(records, [&](size_t place, const Record& r) { plain += is_plain(r) && !named.contains(place); });
  const size_t others = records.size() - plain, room = most > others ? most - others : 0;
  const size_t step = room == 0 ? plain + 1 : std::max<size_t>(1, (plain + room - 1) / room);
  std::vector<size_t> rows;
  size_t seen = 0;
  ForEachRecord(records, [&](size_t place, const Record& r) {
    const bool wanted = named.contains(place) || (rows.size() < most && (!is_plain(r) || seen++ % step == step - 1));
    if (wanted) rows.push_back(place);
  });
  return rows;
}

// Reads the records twice, because all fields of all of them would take much memory: most are the same in all rows.
void AddRows(const Page& page, Json& data) {
  const std::vector<size_t> rows = ChooseRows(page.records, kMostRows, page.named);
  data["left_out"] = page.records.size() - rows.size();
  if (rows.size() < page.records.size()) data["places"] = rows;
  data["common"] = Json::object();
  for (const char* list : {"keys", "text", "texts", "rows"}) data[list] = Json::array();
  if (rows.empty()) return;
  Record scratch;
  const std::vector<Value> first = ValuesOf(page, page.records.Read(rows.front(), scratch));
  std::vector<bool> varies(first.size());
  for (const size_t place : rows) {
    const std::vector<Value> values = ValuesOf(page, page.records.Read(place, scratch));
    for (size_t k = 0; k < values.size(); ++k) varies[k] = varies[k] || values[k].value != first[k].value;
  }
  for (size_t k = 0; k < first.size(); ++k) {
    if (varies[k]) {
      data["keys"].push_back(first[k].key);
      data["text"].push_back(first[k].is_text);
    } else {
      data["common"][first[k].key] = first[k].value;
    }
  }
  Texts texts;
  for (const size_t place : rows) {
    std::vector<Value> values = ValuesOf(page, page.records.Read(place, scratch));
    Json row = Json::array();
    for (size_t k = 0; k < values.size(); ++k) {
      if (!varies[k]) continue;
      row.push_back(first[k].is_text ? Json(texts.IndexOf(values[k].value.get_ref<const std::string&>()))
                                     : std::move(values[k].value));
    }
    data["rows"].push_back(std::move(row));
  }
  data["texts"] = std::move(texts.list());
}

}  // namespace assay::html
