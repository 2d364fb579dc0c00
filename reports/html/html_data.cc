// SPDX-License-Identifier: Apache-2.0
// The records for the script, compact enough for thousands: what all records share is written once, the others are
// rows of values, and texts are numbers into one list.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/json_text.h"
#include "reports/deciding.h"
#include "reports/glossary.h"
#include "reports/html/html_parts.h"
#include "reports/verdicts.h"

namespace assay::html {
namespace {

using Json = nlohmann::ordered_json;

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

struct FieldReader {
  Json& values;
  Json& keys;
  Json& is_text;
  void Put(const char* key, Json value, bool text = false) const {
    keys.push_back(key);
    is_text.push_back(text);
    values.push_back(std::move(value));
  }
  void operator()(const char* key, const std::string& value) const { Put(key, value, true); }
  void operator()(const char* key, int64_t value) const { Put(key, value); }
  // As text, because a script's numbers end at 2^53.
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

struct Rows {
  Json keys, is_text;
  std::vector<Json> values;
};

Rows ReadRows(const Page& page) {
  Rows rows;
  for (const size_t i : page.rows) {
    Json values = Json::array(), keys = Json::array(), is_text = Json::array();
    const FieldReader reader{values, keys, is_text};
    const DecidingCheck check = DecidingCheckOf(page.records[i]);
    reader("shown_as", page.columns[i].Name());
    reader("decided_by", std::string(check.name));
    reader("deciding_margin", check.margin);
    VisitFields(page.records[i], reader);
    rows.keys = std::move(keys);
    rows.is_text = std::move(is_text);
    rows.values.push_back(std::move(values));
  }
  return rows;
}

Json Compact(const Rows& rows) {
  Json out = {{"keys", Json::array()}, {"text", Json::array()}, {"common", Json::object()}};
  std::vector<size_t> varying;
  for (size_t k = 0; k < rows.keys.size(); ++k) {
    const Json& first = rows.values.front()[k];
    bool same = true;
    for (const Json& values : rows.values) same = same && values[k] == first;
    if (same) {
      out["common"][rows.keys[k].get<std::string>()] = first;
    } else {
      varying.push_back(k);
      out["keys"].push_back(rows.keys[k]);
      out["text"].push_back(rows.is_text[k]);
    }
  }
  Texts texts;
  Json list = Json::array();
  for (const Json& values : rows.values) {
    Json row = Json::array();
    for (size_t k : varying) row.push_back(rows.is_text[k] ? Json(texts.IndexOf(values[k])) : values[k]);
    list.push_back(std::move(row));
  }
  out["texts"] = std::move(texts.list());
  out["rows"] = std::move(list);
  return out;
}

}  // namespace

std::vector<size_t> ChooseRows(const std::vector<Record>& records, size_t most) {
  const auto is_plain = [](const Record& r) {
    return (r.outcome == "pass" && r.result_class != "suspect" && r.timing_invalid.empty()) ||
           r.outcome == "unsupported";
  };
  const auto plain = static_cast<size_t>(std::ranges::count_if(records, is_plain));
  const size_t others = records.size() - plain, room = most > others ? most - others : 0;
  const size_t step = room == 0 ? plain + 1 : std::max<size_t>(1, (plain + room - 1) / room);
  std::vector<size_t> rows;
  for (size_t i = 0, seen = 0; i < records.size() && rows.size() < most; ++i) {
    if (is_plain(records[i]) && seen++ % step != step - 1) continue;
    rows.push_back(i);
  }
  return rows;
}

std::string EmbeddedData(const Page& page) {
  Json out = page.records.empty() ? Json::object() : Compact(ReadRows(page));
  out["left_out"] = page.records.size() - page.rows.size();
  out["verdicts"] = Json::array();
  for (const VerdictStyle& s : VerdictStyles()) {
    Record probe;
    probe.outcome = s.name;
    out["verdicts"].push_back({{"name", s.name}, {"symbol", s.symbol}, {"tone", s.tone}, {"fails", IsFailure(probe)}});
  }
  out["glossary"] = Json::object();
  for (const GlossaryTerm& term : Glossary()) out["glossary"][term.name] = term.definition;
  // A script element ends at "</" and changes its rules at "<!--"; inside JSON '<' occurs in texts only.
  std::string safe;
  for (char c : DumpJson(out)) {
    c == '<' ? safe += "\\u003c" : safe += c;
  }
  return safe;
}

}  // namespace assay::html
