// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/column.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/cli/catalog.h"

namespace assay::cli {
namespace {

SessionOptions SessionFor(const PluginCandidate& candidate, double timeout_s) {
  SessionOptions options;
  options.worker.executable = ExecutablePath();
  options.worker.plugin = candidate.path.string();
  options.worker.startup_timeout_s = timeout_s;
  options.call_timeout_s = timeout_s;
  options.prepare_timeout_s = 5 * timeout_s;
  return options;
}

// "libassay_cuda.so" stands for "cuda" while the plugin cannot say its name itself.
std::string NameFromFile(const std::filesystem::path& path) {
  std::string name = path.stem().string();
  for (std::string_view prefix : {"lib", "assay_"}) {
    if (name.rfind(prefix, 0) == 0) name.erase(0, prefix.size());
  }
  return name;
}

std::string PluginArgument(const PluginCandidate& candidate) {
  if (candidate.origin == "installed") return "";
  return candidate.name.empty() ? candidate.path.string() : candidate.name + "=" + candidate.path.string();
}

Column Unusable(const PluginCandidate& candidate, Outcome outcome, std::string problem) {
  Column column;
  column.backend = candidate.name.empty() ? NameFromFile(candidate.path) : candidate.name;
  column.path = candidate.path.string();
  column.origin = candidate.origin;
  column.plugin_argument = PluginArgument(candidate);
  column.problem = std::move(problem);
  column.problem_outcome = outcome;
  return column;
}

void AppendColumns(const PluginCandidate& candidate, double timeout_s, std::vector<Column>& columns) {
  if (!candidate.problem.empty()) {
    columns.push_back(Unusable(candidate, Outcome::kError, candidate.problem));
    return;
  }
  auto session = std::make_shared<Session>(SessionFor(candidate, timeout_s));
  auto description = session->Describe();
  if (!description) {
    columns.push_back(Unusable(candidate, description.error().outcome, description.error().message));
    return;
  }
  Column column;
  column.backend = candidate.name.empty() ? description->name : candidate.name;
  column.path = candidate.path.string();
  column.origin = candidate.origin;
  column.plugin_argument = PluginArgument(candidate);
  column.description = *description;
  if (description->devices.empty()) {
    column.problem = description->unavailable.empty() ? "the plugin lists no device" : description->unavailable;
    columns.push_back(std::move(column));
    return;
  }
  column.session = session;
  for (size_t i = 0; i < description->devices.size(); ++i) {
    column.device = description->devices[i];
    column.device_index = static_cast<uint32_t>(i);
    columns.push_back(column);
  }
}

}  // namespace

std::vector<Column> OpenPlugin(const PluginCandidate& candidate, double timeout_s) {
  std::vector<Column> columns;
  AppendColumns(candidate, timeout_s, columns);
  return columns;
}

nlohmann::ordered_json DescribeColumn(const Column& c) {
  nlohmann::ordered_json out;
  out["backend"] = c.backend;
  out["usable"] = c.problem.empty();
  out["plugin"] = c.path;
  out["origin"] = c.origin;
  if (!c.problem.empty()) {
    out["outcome"] = Name(c.problem_outcome);
    out["reason"] = c.problem;
    return out;
  }
  out["vendor"] = c.description.vendor;
  out["version"] = c.description.version;
  out["library_version"] = c.description.library_version;
  out["device"] = c.device.name;
  out["device_index"] = c.device_index;
  out["driver"] = c.device.driver;
  out["memory_bytes"] = c.device.memory_bytes;
  out["properties"] = c.device.properties;
  return out;
}

Result<std::vector<Column>> OpenColumns(const BackendOptions& options, std::vector<std::string>& absent) {
  const auto candidates = DiscoverPlugins(DiscoveryFromEnvironment(options.plugins));
  if (auto named = CheckNamedPlugins(candidates); !named) return tl::unexpected(named.error());
  std::vector<Column> columns;
  for (const PluginCandidate& candidate : candidates) AppendColumns(candidate, options.timeout_s, columns);

  for (const std::string& name : options.required_backends) {
    const auto usable = [&](const Column& c) { return c.backend == name && c.problem.empty(); };
    if (std::none_of(columns.begin(), columns.end(), usable)) absent.push_back(name);
  }
  std::vector<std::string> names;
  for (const Column& c : columns) names.push_back(c.backend);
  for (const std::string& wanted : options.backends) {
    if (std::find(names.begin(), names.end(), wanted) != names.end()) continue;
    return UsageError(fmt::format("--backend {}: there is no such backend; found: {}. See assay backends", wanted,
                                  names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  if (!options.backends.empty()) {
    std::erase_if(columns, [&](const Column& c) {
      return std::find(options.backends.begin(), options.backends.end(), c.backend) == options.backends.end();
    });
  }
  return columns;
}

}  // namespace assay::cli
