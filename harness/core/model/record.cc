// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/record.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/core/base/json_text.h"

namespace assay {
namespace {

constexpr const char* kNonFinite = "_nonfinite";  // behind a number's key: that of the word for it

std::string_view NonFiniteTag(double x) {
  if (std::isnan(x)) return "nan";
  return x > 0 ? "inf" : "-inf";
}

// Every key comes once, so that none is looked for among those before it.
class Writer {
 public:
  explicit Writer(Json& out) : object_(ObjectIn(out)) {}
  void operator()(const char* key, const std::vector<OutputRecord>& outputs) const {
    if (outputs.empty()) return;
    Json list = Json::array();
    for (const OutputRecord& output : outputs) VisitOutputFields(output, Writer(list.emplace_back()));
    Put(key, std::move(list));
  }
  template <class T>
  void operator()(const char* key, const T& value) const {
    Put(key, value);
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) const {
    Put(key, value ? Json(*value) : Json());
  }
  void operator()(const char* key, const Number& value) const {
    const bool is_finite = value && std::isfinite(*value);
    Put(key, is_finite ? Json(*value) : Json());
    if (value && !is_finite) Put(std::string(key) + kNonFinite, NonFiniteTag(*value));
  }

 private:
  using Fields = Json::object_t;
  static Fields& ObjectIn(Json& out) {
    out = Json::object();
    return out.get_ref<Fields&>();
  }
  void Put(std::string key, Json value) const { object_.emplace_back(std::move(key), std::move(value)); }

  Fields& object_;
};

// Most keys stand where the writer puts them, each behind the last one that was asked for.
class Reader {
 public:
  // `misfit`: receives the first key whose value has another type.
  Reader(const Json& in, std::string& misfit) : in_(in), misfit_(misfit), next_(in.begin()) {
    if (!in.is_object()) return;
    for (const auto& [key, value] : in.get_ref<const Json::object_t&>()) {
      has_tags_ = has_tags_ || key.ends_with(kNonFinite);
    }
  }
  void operator()(const char* key, std::vector<OutputRecord>& outputs) {
    const auto it = Find(key);
    if (it == in_.end() || it->is_null()) return;
    if (!it->is_array()) misfit_ = misfit_.empty() ? key : misfit_;
    for (const Json& entry : *it) VisitOutputFields(outputs.emplace_back(), Reader(entry, misfit_));
  }
  template <class T>
  void operator()(const char* key, T& value) {
    Get<T>(key, value);
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& value) {
    Get<T>(key, value);
  }
  void operator()(const char* key, Number& value) {
    Get<double>(key, value);
    if (!has_tags_) return;
    const auto tag = in_.find(std::string(key) + kNonFinite);
    if (tag == in_.end()) return;
    const double inf = std::numeric_limits<double>::infinity();
    value = *tag == "nan" ? std::numeric_limits<double>::quiet_NaN() : *tag == "inf" ? inf : -inf;
  }

 private:
  using Place = Json::const_iterator;
  Place Find(const char* key) {
    if (!in_.is_object()) return in_.end();
    const Place found = next_ != in_.end() && next_.key() == key ? next_ : in_.find(key);
    if (found != in_.end()) next_ = std::next(found);
    return found;
  }
  template <class T, class Field>
  void Get(const char* key, Field& value) {
    const auto it = Find(key);
    if (it == in_.end() || it->is_null()) return;
    try {
      value = it->template get<T>();
    } catch (const Json::type_error&) {
      if (misfit_.empty()) misfit_ = key;
    }
  }

  const Json& in_;
  std::string& misfit_;
  Place next_;
  bool has_tags_ = false;  // some number is not finite
};

}  // namespace

std::string ToJsonLine(const Record& record) {
  Json out;
  VisitFields(record, Writer{out});
  return DumpJson(out);
}

Result<Record> FromJsonLine(const std::string& line) {
  const auto no_record = [](const std::string& why) {
    return Fail(ErrorCode::kIo,
                fmt::format("not a record: {}. The file was changed or damaged: take it from a copy, or "
                            "remove this line to report the other results",
                            why));
  };
  const Json json = ParseJson(line);
  if (!json.is_object()) return no_record("it is no JSON object");
  Record record;
  std::string misfit;
  VisitFields(record, Reader{json, misfit});
  if (record.schema_version > kRecordSchemaVersion) {
    return Fail(ErrorCode::kIo,
                fmt::format("the record has schema_version {}, this program reads up to {}: use a newer assay",
                            record.schema_version, kRecordSchemaVersion));
  }
  if (!misfit.empty()) return no_record(fmt::format("the value of '{}' has another type", misfit));
  if (record.case_id.empty() || record.outcome.empty()) {
    return no_record(fmt::format("it has no {}", record.case_id.empty() ? "case_id" : "outcome"));
  }
  return record;
}

}  // namespace assay
