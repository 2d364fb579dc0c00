// SPDX-License-Identifier: Apache-2.0
#include "harness/base/record.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace assay {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string_view NonFiniteTag(double x) {
  if (std::isnan(x)) return "nan";
  return x > 0 ? "inf" : "-inf";
}

struct Writer {
  OrderedJson& out;
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
  template <class T>
  void operator()(const char* key, T& value) const {
    if (auto it = in.find(key); it != in.end() && !it->is_null()) value = it->get<T>();
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& value) const {
    if (auto it = in.find(key); it != in.end() && !it->is_null()) value = it->get<T>();
  }
  void operator()(const char* key, Number& value) const {
    if (auto it = in.find(key); it != in.end() && !it->is_null()) value = it->get<double>();
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
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

Result<Record> FromJsonLine(const std::string& line) try {
  Record record;
  VisitFields(record, Reader{OrderedJson::parse(line)});
  if (record.schema_version > kRecordSchemaVersion) {
    return Fail(ErrorCode::kIo,
                fmt::format("the record has schema_version {}, this program reads up to {}: use a newer assay",
                            record.schema_version, kRecordSchemaVersion));
  }
  return record;
} catch (const OrderedJson::exception& e) {
  return Fail(ErrorCode::kIo, fmt::format("not a record: {}", e.what()));
}

Result<std::vector<Record>> ReadRecords(const std::filesystem::path& jsonl) {
  std::ifstream file(jsonl);
  if (!file) {
    return Fail(ErrorCode::kIo, fmt::format("cannot read {}: give the output folder of a run", jsonl.string()));
  }
  std::vector<Record> records;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    auto record = FromJsonLine(line);
    // A run that was killed can leave one torn line, without its newline: everything before it is good.
    if (!record && file.eof()) break;
    if (!record) return Fail(ErrorCode::kIo, fmt::format("{}:{}: {}", jsonl.string(), number, record.error().message));
    records.push_back(std::move(*record));
  }
  return records;
}

}  // namespace assay
