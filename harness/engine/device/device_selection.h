// SPDX-License-Identifier: Apache-2.0
// The devices that --backend and --device name, among those that were found, and that each name means one plugin.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/engine/device/device.h"

namespace assay {

// Whether --backend WANTED means this device.
bool IsNamed(const Device& c, const std::string& wanted);
bool IsSelected(const BackendOptions& options, const Device& c);
// An error where a name or glob means none of them.
Status CheckSelection(const BackendOptions& options, const std::vector<Device>& devices);
// "vulkan (not built: ...)", "cuda (unavailable: no driver)", "cuda:3".
std::string AbsentText(const std::vector<Device>& devices, const std::string& wanted);
// Sorts devices as the user named them with --backend; else "cpu", which the others are looked at beside, then by name.
// Devices of one backend stay as they are.
void OrderDevices(const std::vector<std::string>& wanted, std::vector<Device>& devices);

// "; did you mean 'onednn'?" of a name that no plugin and no backend of this build has; "" where nothing is near.
std::string SuggestBackend(const std::vector<Device>& devices, const std::string& wanted);

// Two plugins of one name would be one column of the report, and --backend could not tell them apart.
Status CheckOnePluginEach(const std::vector<Device>& devices);

// Lists for each backend whether this build contains it and, if not, why. No backend is left out silently.
struct ConfiguredBackend {
  std::string_view name;    // as its plugin calls itself
  std::string_view option;  // AUTO, ON, OFF, or "-" where there is no choice
  bool built = false;
  std::string_view reason;  // the version of its SDK; why it is not built and what to install
};

// In the order of the configure table.
std::span<const ConfiguredBackend> ListConfiguredBackends();

// Why there is no plugin of this name, for a backend that this program knows; else "".
std::string ExplainMissingPlugin(std::string_view backend);

}  // namespace assay
