// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/backend_names.h"

#include <fmt/format.h>

#include <map>

#include "harness/core/base/nearest_word.h"
#include "harness/engine/device/configured_backends.h"

namespace assay {
namespace {

// Whether the user can give it another name.
bool CanBeRenamed(const Device& device) {
  return device.origin != kInstalledOrigin && device.origin != kFrameworkOption;
}

}  // namespace

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

}  // namespace assay
