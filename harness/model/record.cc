// SPDX-License-Identifier: Apache-2.0
#include "harness/model/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/base/json_text.h"

namespace assay {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string_view NonFiniteTag(double x) {
  if (std::isnan(x)) return "nan";
  return x > 0 ? "inf" : "-inf";
}

struct Writer {
  OrderedJson& out;
  void operator()(const char* key, const std::vector<OutputRecord>& outputs) const {
    if (outputs.empty()) return;
    OrderedJson& list = out[key] = OrderedJson::array();
    for (const OutputRecord& output : outputs) VisitOutputFields(output, Writer{list.emplace_back()});
  }
  template <class T>
  void operator()(const char* key, const T& value) const {
    out[key] = value;
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) const {
    value ? out[key] = *value : out[key] = nullptr;
  }
  void operator()(const char* key, const Number& value) const {
    if (value && !std::isfinite(*value)) {
      out[key] = nullptr;
      out[std::string(key) + "_nonfinite"] = NonFiniteTag(*value);
    } else {
      value ? out[key] = *value : out[key] = nullptr;
    }
  }
};

struct Reader {
  const OrderedJson& in;
  std::string& misfit;  // the first key whose value has another type
  void operator()(const char* key, std::vector<OutputRecord>& outputs) const {
    const auto it = in.find(key);
    if (it == in.end() || it->is_null()) return;
    if (!it->is_array()) misfit = misfit.empty() ? key : misfit;
    for (const OrderedJson& entry : *it) VisitOutputFields(outputs.emplace_back(), Reader{entry, misfit});
  }
  template <class T, class Field>
  void Get(const char* key, Field& value) const {
    const auto it = in.find(key);
    if (it == in.end() || it->is_null()) return;
    try {
      value = it->template get<T>();
    } catch (const OrderedJson::type_error&) {
      if (misfit.empty()) misfit = key;
    }
  }
  template <class T>
  void operator()(const char* key, T& value) const {
    Get<T>(key, value);
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& value) const {
    Get<T>(key, value);
  }
  void operator()(const char* key, Number& value) const {
    Get<double>(key, value);
    auto tag = in.find(std::string(key) + "_nonfinite");
    if (tag == in.end()) return;
    const double inf = std::numeric_limits<double>::infinity();
    value = *tag == "nan" ? std::numeric_limits<double>::quiet_NaN() : *tag == "inf" ? inf : -inf;
  }
};

}  // namespace

std::string ToJsonLine(const Record& record) {
  OrderedJson out;
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
  const OrderedJson json = ParseOrderedJson(line);
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

Result<RecordFile> ReadRecords(const std::filesystem::path& jsonl) {
  std::ifstream file(jsonl);
  if (!file) {
    return Fail(ErrorCode::kIo, fmt::format("cannot read {}: give the output folder of a run", jsonl.string()));
  }
  RecordFile out;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    auto record = FromJsonLine(line);
    // A run that was killed can leave one torn line, without its newline: everything before it is good.
    if (!record && file.eof() && !IsJson(line)) {
      out.torn = fmt::format("{}:{}: the last line is torn, as a killed run leaves it; its result is left out",
                             jsonl.string(), number);
      break;
    }
    if (!record) return Fail(ErrorCode::kIo, fmt::format("{}:{}: {}", jsonl.string(), number, record.error().message));
    // Lines are about of one length, of some thousand bytes. A vector that doubles would hold a million records twice
    // for a while.
    if (out.records.empty()) {
      std::error_code unknown;
      const auto bytes = std::filesystem::file_size(jsonl, unknown);
      if (!unknown) out.records.reserve(bytes / std::max<size_t>(line.size() + 1, 1024) + 1);
    }
    out.records.push_back(std::move(*record));
  }
  if (file.bad()) {  // a folder, which can be opened, or a disk that fails
    return Fail(ErrorCode::kIo, fmt::format("{}: cannot be read to its end", jsonl.string()));
  }
  return out;
}

}  // namespace assay
