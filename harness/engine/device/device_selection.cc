// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/device_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "harness/core/base/glob.h"
#include "harness/core/base/nearest_word.h"

namespace assay {
namespace {

bool IsNamedByAny(const Device& c, const std::vector<std::string>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(), [&](const std::string& name) { return IsNamed(c, name); });
}

bool MatchesBackends(const BackendOptions& options, const Device& c) {
  return options.backends.empty() || IsNamedByAny(c, options.backends);
}

// Also a backend that --backend names and that shows no device: why it does not is what its user has to know.
bool FitsDevice(const BackendOptions& options, const std::string& glob, const Device& c) {
  return MatchesGlob(glob, c.device.name) || (!options.backends.empty() && !c.problem.empty() && c.device.name.empty());
}

// "cpu, cuda:0 (NVIDIA H200), cuda:1 (NVIDIA H200)", and what is wrong with a plugin that could not say its name.
std::string FoundText(const std::vector<Device>& devices) {
  std::string text;
  for (const Device& c : devices) {
    text += (text.empty() ? "" : ", ") + (c.selector.empty() ? c.backend : c.selector);
    if (!c.device.name.empty()) text += " (" + c.device.name + ")";
    const bool is_broken = !c.problem.empty() && c.problem_kind != FailureKind::kUnavailable;
    if (is_broken && c.description.name.empty()) text += " (cannot be used: " + c.problem + ")";
  }
  return text.empty() ? "none" : text;
}

std::string DescribeUnknownName(const std::string& wanted) {
  return fmt::format("there is no such {}", wanted.find(':') == wanted.npos ? "backend" : "device");
}

// Whether the user can give it another name.
bool CanBeRenamed(const Device& device) {
  return device.origin != kInstalledOrigin && device.origin != kFrameworkOption;
}

constexpr ConfiguredBackend kConfigured[] = {
#include "configured_backends.inc"  // written by CMake (AssayOptions.cmake)
};

}  // namespace

bool IsNamed(const Device& c, const std::string& wanted) {
  if (wanted == c.backend) return true;
  return c.problem.empty() && wanted == fmt::format("{}:{}", c.backend, c.device_index);
}

std::string AbsentText(const std::vector<Device>& devices, const std::string& wanted) {
  for (const Device& c : devices) {
    if (c.backend == wanted) return fmt::format("{} ({}: {})", wanted, Name(c.problem_kind), c.problem);
  }
  const std::string why = ExplainMissingPlugin(wanted);
  if (!why.empty()) return fmt::format("{} ({})", wanted, why);
  return fmt::format("{} ({}; found: {}{})", wanted, DescribeUnknownName(wanted), FoundText(devices),
                     SuggestBackend(devices, wanted));
}

Status CheckSelection(const BackendOptions& options, const std::vector<Device>& devices) {
  for (const std::string& wanted : options.backends) {
    if (std::any_of(devices.begin(), devices.end(), [&](const Device& c) { return IsNamed(c, wanted); })) continue;
    const std::string why = ExplainMissingPlugin(wanted);
    return UsageError(fmt::format("--backend {}: {}; found: {}. See assay backends{}", wanted,
                                  why.empty() ? DescribeUnknownName(wanted) : why, FoundText(devices),
                                  why.empty() ? SuggestBackend(devices, wanted) : ""));
  }
  for (const std::string& glob : options.devices) {
    const auto fits = [&](const Device& c) { return MatchesBackends(options, c) && FitsDevice(options, glob, c); };
    if (std::ranges::any_of(devices, fits)) continue;
    const std::string of = options.backends.empty() ? "" : fmt::format(" of {}", fmt::join(options.backends, ", "));
    return UsageError(fmt::format("--device {}: matches no device{}; found: {}", glob, of, FoundText(devices)));
  }
  return {};
}

bool IsSelected(const BackendOptions& options, const Device& c) {
  const auto fits = [&](const std::string& glob) { return FitsDevice(options, glob, c); };
  return MatchesBackends(options, c) && (options.devices.empty() || std::ranges::any_of(options.devices, fits));
}

void OrderDevices(const std::vector<std::string>& wanted, std::vector<Device>& devices) {
  const auto rank = [&](const Device& c) {
    const auto names = [&](const std::string& name) { return IsNamed(c, name); };
    const auto place = std::ranges::find_if(wanted, names) - wanted.begin();
    return std::tuple(place, c.backend != "cpu", c.backend);
  };
  std::ranges::stable_sort(devices, {}, rank);
}

std::string SuggestBackend(const std::vector<Device>& devices, const std::string& wanted) {
  std::vector<std::string> known;
  for (const Device& device : devices) known.push_back(device.backend);
  for (const ConfiguredBackend& configured : ListConfiguredBackends()) known.emplace_back(configured.name);
  return DidYouMean(wanted.substr(0, wanted.find(':')), known);
}

Status CheckOnePluginEach(const std::vector<Device>& devices) {
  std::map<std::string, const Device*> first;
  for (const Device& device : devices) {
    const auto [it, is_new] = first.try_emplace(device.backend, &device);
    const Device& other = *it->second;
    if (is_new || other.path == device.path) continue;
    const Device& renamed = CanBeRenamed(device) ? device : other;
    const std::string both = fmt::format("two plugins have the name '{}': {} ({}) and {} ({})", device.backend,
                                         other.path, other.origin, device.path, device.origin);
    if (!CanBeRenamed(renamed)) return UsageError(both + "; remove one of them");
    const std::string option = renamed.plugin_words.empty() ? kPluginOption : renamed.plugin_words[0];
    return UsageError(
        fmt::format("{}; give one of them a name of its own: {} {}-2={}", both, option, device.backend, renamed.path));
  }
  return {};
}

std::span<const ConfiguredBackend> ListConfiguredBackends() {
  return kConfigured;
}

std::string ExplainMissingPlugin(std::string_view backend) {
  for (const ConfiguredBackend& configured : kConfigured) {
    if (configured.name != backend) continue;
    if (!configured.built) return fmt::format("not built: {}", configured.reason);
    return fmt::format(
        "configured ({}), but libassay_{}.so is not in lib/assay/plugins beside the program; build it (target gpu for "
        "cuda and hip, else product) and install it there, or name it with --plugin",
        configured.reason, backend);
  }
  return "";
}

}  // namespace assay
