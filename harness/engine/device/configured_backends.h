// SPDX-License-Identifier: Apache-2.0
// Lists for each backend whether this build contains it and, if not, why. No backend is left out silently.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay {

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
