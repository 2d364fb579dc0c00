// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/core/base/json_text.h"
#include "reports/compare/run_history.h"

namespace assay {
namespace {

// Members that say how a run was made. Others tell of one moment (load, clock, time) or of the run's end.
constexpr const char* kOfRun[] = {"tool_version", "compiler", "build_type",   "os",           "kernel",
                                  "architecture", "cpu",      "host_vectors", "cpu_governor", "cores",
                                  "sandbox",      "seed",     "expectations"};
constexpr const char* kOfBackend[] = {"plugin_hash", "version", "library_version", "device", "driver", "properties"};

std::string TextOf(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : DumpJson(value);
}

std::string JoinWords(const Json& list) {
  std::string words;
  for (const Json& word : list) words += (words.empty() ? "" : " ") + TextOf(word);
  return words;
}

void SetProperty(RunProperties& properties, const std::string& name, std::string text) {
  if (!text.empty()) properties[name] = std::move(text);
}

}  // namespace

RunProperties ReadRunProperties(const std::string& environment_json) {
  const Json environment = ParseJson(environment_json);
  RunProperties properties;
  if (!environment.is_object()) return properties;
  for (const char* key : kOfRun) SetProperty(properties, key, TextOf(MemberIn(environment, key)));
  SetProperty(properties, "options", JoinWords(ListIn(environment, "asked")));
  if (const Json& variables = MemberIn(environment, "variables"); variables.is_object()) {
    for (const auto& [name, value] : variables.items()) SetProperty(properties, "variable " + name, TextOf(value));
  }
  for (const Json& device : ListIn(environment, "backends")) {
    std::string name = TextIn(device, "selector");
    if (name.empty()) name = TextIn(device, "backend");
    for (const char* key : kOfBackend) {
      if (device.is_object()) SetProperty(properties, name + " " + key, TextOf(MemberIn(device, key)));
    }
  }
  return properties;
}

std::vector<std::string> ListDifferences(const RunProperties& before, const RunProperties& now) {
  std::map<std::string, std::pair<std::string, std::string>> both;
  for (const auto& [name, text] : before) both[name].first = text;
  for (const auto& [name, text] : now) both[name].second = text;
  std::vector<std::string> differences;
  const auto shown = [](const std::string& text) { return text.empty() ? std::string("not set") : text; };
  for (const auto& [name, texts] : both) {
    const auto& [first, second] = texts;
    if (first != second) differences.push_back(fmt::format("{}: {} -> {}", name, shown(first), shown(second)));
  }
  return differences;
}

}  // namespace assay
