// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/exec/clean_text.h"
#include "harness/exec/wire/protocol.h"

namespace assay {
namespace {

bool IsDuration(const Json& json) {
  return json.is_number() && std::isfinite(json.get<double>()) && json.get<double>() >= 0;
}

}  // namespace

void Reply::Problem(const char* key, std::string_view what) {
  if (problem_.empty()) problem_ = fmt::format("'{}' in the worker's answer {}", key, what);
}

const Json* Reply::Find(const char* key) {
  if (!problem_.empty()) return nullptr;
  const auto it = json_->find(key);
  if (it != json_->end()) return &*it;
  Problem(key, "is absent");
  return nullptr;
}

std::string Reply::Text(const char* key, size_t max_bytes) {
  const Json* json = Find(key);
  if (json == nullptr) return {};
  if (json->is_string()) return CleanText(json->get_ref<const std::string&>(), max_bytes);
  Problem(key, json->is_null() ? "is NULL" : "is not a text");
  return {};
}

uint64_t Reply::Count(const char* key, uint64_t max) {
  const Json* json = Find(key);
  if (json == nullptr) return 0;
  if (json->is_number_unsigned() && json->get<uint64_t>() <= max) return json->get<uint64_t>();
  Problem(key, fmt::format("is not a count of at most {}", max));
  return 0;
}

int64_t Reply::Integer(const char* key) {
  const Json* json = Find(key);
  if (json == nullptr) return 0;
  if (json->is_number_integer()) return json->get<int64_t>();
  Problem(key, "is not an integer");
  return 0;
}

double Reply::Seconds(const char* key) {
  const Json* json = Find(key);
  if (json == nullptr) return 0;
  if (IsDuration(*json)) return json->get<double>();
  Problem(key, "is not a duration");
  return 0;
}

std::vector<double> Reply::SecondsList(const char* key, size_t max_size) {
  std::vector<double> seconds;
  for (const Json& entry : List(key, max_size)) {
    if (!IsDuration(entry)) {
      Problem(key, "holds something that is not a duration (negative, infinite or NaN)");
      return {};
    }
    seconds.push_back(entry.get<double>());
  }
  return seconds;
}

const Json& Reply::List(const char* key, size_t max_size) {
  static const Json empty = Json::array();
  const Json* json = Find(key);
  if (json == nullptr) return empty;
  if (json->is_array() && json->size() <= max_size) return *json;
  Problem(key, fmt::format("is not a list of at most {} entries", max_size));
  return empty;
}

}  // namespace assay
