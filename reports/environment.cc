// SPDX-License-Identifier: Apache-2.0
#include "reports/environment.h"

#include <nlohmann/json.hpp>

#include "harness/core/base/json_text.h"

namespace assay {
namespace {

std::string Text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : DumpJson(value);
}

void Flatten(const std::string& prefix, const Json& value, EnvironmentRows& rows) {
  if (!value.is_structured()) {
    const std::string text = value.is_null() ? "" : Text(value);
    if (!text.empty()) rows.emplace_back(prefix, text);
    return;
  }
  for (const auto& [key, item] : value.items()) Flatten(prefix.empty() ? key : prefix + "." + key, item, rows);
}

}  // namespace

EnvironmentRows FlattenEnvironment(const std::string& environment_json) {
  const Json environment = ParseJson(environment_json);
  EnvironmentRows rows;
  if (environment.is_object()) Flatten("", environment, rows);
  return rows;
}

std::string EnvironmentValue(const EnvironmentRows& rows, const std::string& name) {
  for (const auto& [key, value] : rows) {
    if (key == name) return value;
  }
  return "";
}

}  // namespace assay
