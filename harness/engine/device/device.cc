// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "harness/core/base/parallel.h"
#include "harness/core/base/profile.h"
#include "harness/core/base/whole_file.h"
#include "harness/core/data/tensor.h"
#include "harness/engine/device/device_selection.h"
#include "harness/engine/device/interpreter.h"
#include "harness/engine/device/sandbox.h"
#include "harness/exec/sandbox/worker_folder.h"
#include "harness/exec/worker_session.h"
#include "harness/plan/catalog.h"

namespace assay {
namespace {

// `interpreter`: of a file of kernels; else null.
std::shared_ptr<WorkerSession> OpenSession(const PluginCandidate& candidate, const BackendOptions& backend,
                                           const Interpreter* interpreter) {
  const double timeout_s = backend.timeout_s.value_or(60);
  SessionOptions options;
  options.worker.sandbox = MakeSandboxRequest(backend.sandbox);
  if (interpreter != nullptr) {
    options.worker.words = interpreter->words;
    options.worker.sandbox.readable = interpreter->readable;
    options.worker.import_timeout_s = backend.import_timeout_s.value_or(kImportTimeoutS);
  }
  options.worker.executable = ExecutablePath();
  options.worker.plugin = candidate.path.string();
  options.worker.startup_timeout_s = timeout_s;
  options.call_timeout_s = timeout_s;
  options.prepare_timeout_s = 5 * timeout_s;
  options.timeouts_are_constant = backend.timeout_s.has_value();
  auto session = std::make_shared<WorkerSession>(std::move(options));
  session->EndWhen(backend.interrupted);
  return session;
}

// Number of extra workers per device: each takes a core, and the harness, which judges their results, needs one more.
size_t CountExtraWorkers() {
  constexpr int kMost = 3;
  return static_cast<size_t>(std::min(ThreadCount() / 2, kMost));
}

std::vector<const Session*> SessionsOf(const Device& device) {
  std::vector<const Session*> all;
  if (device.session) all.push_back(device.session.get());
  for (const auto& session : device.beside) all.push_back(session.get());
  return all;
}

LibraryPaths LoadedLibrariesOf(const Device& device) {
  LibraryPaths all;
  for (const Session* session : SessionsOf(device)) all.merge(session->LoadedLibraries());
  return all;
}

// The option and its value that load it in any folder.
std::vector<std::string> PluginWords(const PluginCandidate& candidate) {
  if (candidate.origin == kInstalledOrigin) return {};
  if (candidate.origin == kFrameworkOption) return {candidate.origin, candidate.name};
  return {IsKernelFile(candidate.path) ? kKernelsOption : kPluginOption,
          candidate.name.empty() ? candidate.path.string() : candidate.name + "=" + candidate.path.string()};
}

// Fills in what all devices of a plugin share. `name` is used if the user gave none.
Device NewDevice(const PluginCandidate& candidate, const std::string& name) {
  Device device;
  device.backend = candidate.name.empty() ? name : candidate.name;
  device.path = candidate.path.string();
  device.origin = candidate.origin;
  device.plugin_words = PluginWords(candidate);
  return device;
}

Device MakeUnusableDevice(const PluginCandidate& candidate, FailureKind kind, std::string problem) {
  Device device = NewDevice(candidate, NameOfPluginFile(candidate.path));
  device.problem = std::move(problem);
  device.problem_kind = kind;
  return device;
}

// Whether the user named this file with --plugin by the very name that it gives itself: it is one backend then.
bool IsListed(const Device& device, const std::vector<Device>& devices) {
  return std::ranges::any_of(devices, [&](const Device& other) {
    std::error_code error;
    return other.backend == device.backend && std::filesystem::equivalent(other.path, device.path, error);
  });
}

// The first device keeps the worker that described all of them, the others get one each, which opens no other device.
void AppendDevices(const PluginCandidate& candidate, const BackendOptions& options, std::vector<Device>& devices) {
  if (!candidate.problem.empty()) {
    devices.push_back(MakeUnusableDevice(candidate, FailureKind::kError, candidate.problem));
    return;
  }
  std::optional<Interpreter> interpreter;
  if (IsKernelFile(candidate.path)) {
    Result<Interpreter> found =
        FindInterpreter(options.python, candidate.path, options.import_timeout_s.value_or(kImportTimeoutS));
    if (!found) {
      devices.push_back(MakeUnusableDevice(candidate, FailureKind::kError, found.error().message));
      return;
    }
    interpreter = *std::move(found);
  }
  const Interpreter* python = interpreter ? &*interpreter : nullptr;
  const SpanContext context("", candidate.name.empty() ? NameOfPluginFile(candidate.path) : candidate.name, "");
  const auto describing = OpenSession(candidate, options, python);
  const auto description = describing->Describe();
  if (!description) {
    devices.push_back(MakeUnusableDevice(candidate, description.error().kind, description.error().message));
    return;
  }
  Device device = NewDevice(candidate, description->name);
  if (IsListed(device, devices)) return;
  device.description = *description;
  device.sandbox = describing->sandbox();
  device.hidden = describing->hidden();
  const std::vector<DeviceDescription>& listed = description->devices;
  if (listed.empty()) {
    device.problem = description->unavailable.empty() ? "the plugin lists no device" : description->unavailable;
    devices.push_back(std::move(device));
    return;
  }
  for (size_t i = 0; i < listed.size(); ++i) {
    device.device = listed[i];
    if (std::ranges::count(listed, listed[i].name, &DeviceDescription::name) > 1) {
      device.device.name += fmt::format(" #{}", i);
    }
    device.device_index = static_cast<uint32_t>(i);
    device.selector = listed.size() > 1 ? fmt::format("{}:{}", device.backend, i) : device.backend;
    const auto named = [&](std::shared_ptr<WorkerSession> session) {
      session->NameDevice(fmt::format("{} ({})", device.selector, device.device.name));
      return session;
    };
    device.session = named(i == 0 ? describing : OpenSession(candidate, options, python));
    device.beside.clear();
    while (device.device.IsHost() && python == nullptr && device.beside.size() < CountExtraWorkers()) {
      device.beside.push_back(named(OpenSession(candidate, options, python)));
    }
    devices.push_back(device);
  }
}

// A mistyped file beside working plugins, or kernels whose imports fail or hang, would otherwise cost a whole run
// before anyone sees it.
Status CheckArePlugins(const BackendOptions& options, const std::vector<Device>& devices) {
  for (const Device& c : devices) {
    if (!IsNoPlugin(c)) continue;
    const std::string named = NamedBy(c.origin, c.backend);
    if (IsKernelFile(c.path)) {
      std::vector<std::string> words = c.plugin_words;
      if (!options.python.empty()) words.insert(words.end(), {"--python", options.python});
      return UsageError(
          fmt::format("{}: {}; assay backends {} tries it alone", named, c.problem, fmt::join(words, " ")));
    }
    return UsageError(fmt::format("{}: {}; name {}", named, c.problem,
                                  c.origin == kKernelsOption
                                      ? "the Python file of the kernels, which ends with .py"
                                      : "the plugin's .so file (assay check-plugin FILE tests one)"));
  }
  return {};
}

// Two plugins of one name would be one backend.
Status CheckNamesDiffer(const std::vector<PluginArgument>& plugins) {
  std::set<std::string> names;
  for (const PluginArgument& plugin : plugins) {
    const bool is_framework = plugin.option == kFrameworkOption;
    const size_t equals = is_framework ? plugin.text.size() : plugin.text.find('=');
    if (equals == std::string::npos || names.insert(plugin.text.substr(0, equals)).second) continue;
    return UsageError(
        fmt::format("{} {}: another plugin has the name '{}' already; {}", plugin.option, plugin.text,
                    plugin.text.substr(0, equals),
                    is_framework ? "name each framework once, and files by other names" : "give each its own"));
  }
  return {};
}

// Collects the plugins that the user named: --plugin, --kernels and --framework.
Result<std::vector<PluginArgument>> ReadNamedPlugins(const BackendOptions& options) {
  std::vector<PluginArgument> plugins;
  for (const std::string& plugin : options.plugins) plugins.push_back({kPluginOption, plugin});
  for (const std::string& kernels : options.kernels) plugins.push_back({kKernelsOption, kernels});
  for (const std::string& name : options.frameworks) {
    auto file = FrameworkKernels(name);
    if (!file) return tl::unexpected(file.error());
    plugins.push_back({kFrameworkOption, name, *std::move(file)});
  }
  return plugins;
}

// An installed plugin's file is named after its backend, so that one whose name no option gives need not be loaded.
bool IsAskedFor(const BackendOptions& options, const PluginCandidate& candidate) {
  if (candidate.origin != kInstalledOrigin || options.backends.empty()) return true;
  const std::string name = NameOfPluginFile(candidate.path);
  const auto is_its = [&](const std::string& wanted) { return wanted.substr(0, wanted.find(':')) == name; };
  return std::ranges::any_of(options.backends, is_its) || std::ranges::any_of(options.required_backends, is_its);
}

void OpenCandidates(const std::vector<PluginCandidate>& candidates, const BackendOptions& options, bool asked_for,
                    std::vector<Device>& devices) {
  for (const PluginCandidate& candidate : candidates) {
    if (IsAskedFor(options, candidate) != asked_for) continue;
    if (options.IsInterrupted()) {
      devices.push_back(
          MakeUnusableDevice(candidate, FailureKind::kInterrupted, "the run was interrupted before it was loaded"));
    } else {
      AppendDevices(candidate, options, devices);
    }
  }
}

bool IsUsable(const std::vector<Device>& devices, const std::string& name) {
  return std::ranges::any_of(devices, [&](const Device& c) { return IsNamed(c, name) && c.problem.empty(); });
}

}  // namespace

std::vector<Device> OpenPlugin(const PluginCandidate& candidate, const BackendOptions& options) {
  std::vector<Device> devices;
  AppendDevices(candidate, options, devices);
  return devices;
}

Device SetAside(Device device, const std::string& why) {
  if (!device.problem.empty()) return device;  // it never was asked
  device.problem = why;
  device.problem_kind = FailureKind::kUnavailable;
  return device;
}

Json DescribeDevice(const Device& c) {
  Json out;
  out["backend"] = c.backend;
  out["usable"] = c.problem.empty();
  out["plugin"] = c.path;
  out["origin"] = c.origin;
  if (const auto file = ReadWholeFile(c.path)) {
    out["plugin_hash"] = fmt::format("{:016x}", HashBytes(file->data(), file->size()));
  }
  if (!c.problem.empty()) {
    out["outcome"] = Name(c.problem_kind);
    out["reason"] = c.problem;
    return out;
  }
  out["plugin_name"] = c.description.name;
  out["vendor"] = c.description.vendor;
  out["version"] = c.description.version;
  out["library_version"] = c.description.library_version;
  out["device"] = c.device.name;
  out["device_index"] = c.device_index;
  out["selector"] = c.selector;
  if (!c.pool.empty()) out["pool"] = c.pool;
  out["driver"] = c.device.driver;
  out["memory_bytes"] = c.device.memory_bytes;
  out["properties"] = c.device.properties;
  out["sandbox"] = c.sandbox;
  if (const LibraryPaths loaded = LoadedLibrariesOf(c); !loaded.empty()) out["loaded_libraries"] = loaded;
  return out;
}

std::string UnnamedLibrariesText(const std::vector<Device>& devices) {
  std::string text;
  for (const Device& c : devices) {
    if (!c.session) continue;
    const std::string& named = c.description.library_version;
    const std::string libraries = FindUnnamedLibraries(LoadedLibrariesOf(c), named);
    if (libraries.empty()) continue;
    text += fmt::format("{}The worker of {} has loaded {}, which its library_version ('{}') does not name.",
                        text.empty() ? "" : " ", c.selector, libraries, named);
  }
  return text;
}

std::string DescribeCrashesAtEnd(const std::vector<Device>& devices) {
  std::string text;
  for (const Device& c : devices) {
    std::string how;
    for (const Session* session : SessionsOf(c)) how = how.empty() ? session->CrashAtEnd() : how;
    if (how.empty()) continue;
    const std::string see = IsKernelFile(c.path)
                                ? "what the kernels leave running, such as threads"
                                : fmt::format(
                                      "what the plugin's libraries do at exit (assay check-plugin {} --only "
                                      "unload)",
                                      c.path);
    text += fmt::format("{}A worker of {} {} when it ended, after its last answer; see {}.", text.empty() ? "" : " ",
                        c.selector, how, see);
  }
  return text;
}

bool IsNoPlugin(const Device& device) {
  if (device.origin == kInstalledOrigin || device.problem.empty()) return false;
  if (!IsKernelFile(device.path)) return device.problem_kind == FailureKind::kNoPlugin;
  return device.problem_kind != FailureKind::kUnavailable && device.problem_kind != FailureKind::kHost;
}

Result<std::vector<Device>> OpenDevices(const BackendOptions& options, std::vector<std::string>& absent) {
  if (auto sandbox = CheckSandbox(options.sandbox); !sandbox) return tl::unexpected(sandbox.error());
  auto plugins = ReadNamedPlugins(options);
  if (!plugins) return tl::unexpected(plugins.error());
  if (auto differ = CheckNamesDiffer(*plugins); !differ) return tl::unexpected(differ.error());
  const auto candidates = DiscoverPlugins(DiscoveryFromEnvironment(*std::move(plugins)));
  if (auto named = CheckNamedPlugins(candidates); !named) return tl::unexpected(named.error());
  std::vector<Device> devices;
  OpenCandidates(candidates, options, true, devices);
  const auto is_usable = [&](const std::string& name) { return IsUsable(devices, name); };
  // A plugin of another name may have the backend, and a message lists all that there are.
  if (!CheckSelection(options, devices) || !std::ranges::all_of(options.required_backends, is_usable)) {
    OpenCandidates(candidates, options, false, devices);
  }
  // Nothing is known of what was not loaded to its end: the run begins, and ends with reports that say so.
  if (options.IsInterrupted()) {
    std::erase_if(devices, [&](const Device& c) { return !IsSelected(options, c); });
    return devices;
  }

  if (options.refuse_no_plugin) {
    if (auto are = CheckArePlugins(options, devices); !are) return tl::unexpected(are.error());
    if (auto each = CheckOnePluginEach(devices); !each) return tl::unexpected(each.error());
  }
  for (const std::string& name : options.required_backends) {
    if (!is_usable(name)) absent.push_back(AbsentText(devices, name));
  }
  if (Status selection = CheckSelection(options, devices); !selection) return tl::unexpected(selection.error());
  std::erase_if(devices, [&](const Device& c) { return !IsSelected(options, c); });
  OrderDevices(options.backends, devices);
  return devices;
}

}  // namespace assay
