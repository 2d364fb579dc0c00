// SPDX-License-Identifier: Apache-2.0
// assay backends [--json] [--capabilities]: every plugin candidate and its devices, every backend that this build left
// out and, for each that is not usable, why and what to install.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/options.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/json_text.h"
#include "harness/engine/device/device.h"
#include "harness/engine/device/device_selection.h"
#include "harness/engine/device/sandbox.h"

namespace assay::cli {
namespace {

struct BackendsOptions {
  RunOptions run;
  bool json = false;
  bool capabilities = false;
};

// Lists the capabilities that the device states: op, type and features; null if it has no table. If its plugin has a
// table but fails to return it, the result is the failure's text.
Json CapabilitiesOf(const Device& c) {
  const auto lines = c.session->Capabilities(c.device_index);
  if (!lines && lines.error().kind == FailureKind::kUnsupported) return nullptr;
  if (!lines) return lines.error().message;
  Json all = Json::array();
  for (const CapabilityLine& line : *lines) {
    all.push_back({{"op", line.op}, {"type", line.type}, {"features", line.features}});
  }
  return all;
}

void PrintCapabilities(const Device& c) {
  const Json table = CapabilitiesOf(c);
  if (!table.is_array()) {
    fmt::print("             {}\n", table.is_null() ? "no table of capabilities" : table.get<std::string>());
    return;
  }
  for (const Json& line : table) {
    fmt::print("             {:<10} {:<6} {}\n", line["op"].get<std::string>(), line["type"].get<std::string>(),
               line["features"].get<std::string>());
  }
}

void PrintText(const Device& c) {
  if (!c.problem.empty()) {
    fmt::print("{:<12} {}\n             {}\n             {} ({})\n", c.backend, Name(c.problem_kind), c.problem, c.path,
               c.origin);
    return;
  }
  fmt::print("{:<12} usable  device {}: {}, {:.1f} GiB\n", c.selector, c.device_index, c.device.name,
             static_cast<double>(c.device.memory_bytes) / (1 << 30));
  if (!c.device.driver.empty()) fmt::print("             driver {}\n", c.device.driver);
  if (!c.description.library_version.empty()) fmt::print("             {}\n", c.description.library_version);
  if (!c.device.properties.empty()) fmt::print("             {}\n", c.device.properties);
  fmt::print("             {} ({})\n", c.path, c.origin);
  if (!c.hidden.empty()) fmt::print("             it does not see {}\n", c.hidden);
}

// The backends that the configuration knew and that no plugin stands for, by name and reason. Only where everything is
// listed: what the user selected exists.
std::vector<std::pair<std::string, std::string>> BackendsWithoutPlugin(const BackendOptions& options,
                                                                       const std::vector<Device>& devices) {
  std::vector<std::pair<std::string, std::string>> missing;
  if (!options.backends.empty() || !options.devices.empty()) return missing;
  for (const ConfiguredBackend& backend : ListConfiguredBackends()) {
    const bool replaced = backend.built && std::getenv("ASSAY_PLUGIN_FILES") != nullptr;
    const auto same = [&](const Device& c) { return c.backend == backend.name; };
    if (replaced || std::any_of(devices.begin(), devices.end(), same)) continue;
    missing.emplace_back(backend.name, ExplainMissingPlugin(backend.name));
  }
  return missing;
}

int ListBackends(const BackendsOptions& options) {
  std::vector<std::string> absent;
  auto devices = OpenDevices(options.run.backend, absent);
  if (!devices) return Complain(kExitUsage, devices.error().message);
  Json all = Json::array();
  for (const Device& c : *devices) {
    const bool asks = options.capabilities && c.problem.empty();
    if (options.json) {
      all.push_back(DescribeDevice(c));
      if (asks) all.back()["capabilities"] = CapabilitiesOf(c);
    } else {
      PrintText(c);
      if (asks) PrintCapabilities(c);
    }
  }
  for (const auto& [name, why] : BackendsWithoutPlugin(options.run.backend, *devices)) {
    if (options.json) {
      all.push_back({{"backend", name}, {"usable", false}, {"outcome", "absent"}, {"reason", why}});
    } else {
      fmt::print("{:<12} absent\n             {}\n", name, why);
    }
  }
  if (options.json) fmt::print("{}\n", DumpJson(all, 2));
  for (const std::string& note : {FindUnset(options.run.backend.sandbox), DescribeSandboxGap(*devices)}) {
    if (!note.empty()) Complain(kExitOk, note);
  }
  if (!absent.empty()) {
    return Complain(kExitRequiredAbsent, fmt::format("required and absent: {}", fmt::join(absent, ", ")));
  }
  if (devices->empty()) return Complain(kExitNothing, kNoPlugin);
  for (const Device& c : *devices) {
    if (!IsNoPlugin(c)) continue;
    return Complain(kExitUsage, fmt::format("{} {} cannot be used, for the reason above", c.origin, c.path));
  }
  return kExitOk;
}

}  // namespace

void AddBackendsVerb(CLI::App& app, Action& action) {
  auto options = std::make_shared<BackendsOptions>();
  CLI::App* verb = app.add_subcommand("backends", "List backends and devices, and why one cannot be used");
  AddBackends(*verb, options->run);
  options->run.backend.refuse_no_plugin = false;
  verb->add_flag("--json", options->json, "print a JSON array instead of text");
  verb->add_flag("--capabilities", options->capabilities,
                 "also print the operators, types and features that each device states");
  verb->callback([options, &action] { action = [options] { return ListBackends(*options); }; });
}

}  // namespace assay::cli
