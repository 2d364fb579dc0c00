// SPDX-License-Identifier: Apache-2.0
// Options that give a number for each backend: --price, --launch-us.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/result.h"

namespace assay {

using PerBackend = std::map<std::string, double>;

struct PerBackendOption {
  std::string_view name;     // "--price"
  std::string_view what;     // "price per hour"
  std::string_view example;  // "0.2 or cuda=3.5"
  double most;
};
inline constexpr PerBackendOption kPrices{"--price", "price per hour", "0.2 or cuda=3.5", 1e9};
inline constexpr PerBackendOption kLaunches{"--launch-us", "number of microseconds", "200 or cuda=200", 1e4};

// "cuda=3.5" for a backend, "0.2" for all others (under ""). Errors say what a number looks like, and its limits.
Result<PerBackend> ParsePerBackend(const PerBackendOption& option, const std::vector<std::string>& texts);

// Returns nothing if there is a number neither for the backend nor for all others.
std::optional<double> ForBackend(const PerBackend& numbers, const std::string& backend);

// Keeps the texts for all backends or for one of the run. Precondition: ParsePerBackend(option, texts).
std::vector<std::string> KeepUsed(std::vector<std::string> texts, const std::set<std::string>& backends);

// Names the backends that the run does not have; "" if there are none. They are no error: a list may serve several
// machines.
std::string FindUnused(const PerBackendOption& option, const PerBackend& numbers,
                       const std::set<std::string>& backends);

}  // namespace assay
