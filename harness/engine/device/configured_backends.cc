// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/configured_backends.h"

#include <fmt/format.h>

namespace assay {
namespace {

constexpr ConfiguredBackend kConfigured[] = {
#include "configured_backends.inc"  // written by CMake (AssayOptions.cmake)
};

}  // namespace

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
