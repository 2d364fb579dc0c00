// SPDX-License-Identifier: Apache-2.0
// Options that give a number for each backend: --price, --launch-us.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

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

// Nothing where neither the backend nor all others have one.
std::optional<double> ForBackend(const PerBackend& numbers, const std::string& backend);

// Those texts that are of a backend of the run or of all. Precondition: ParsePerBackend(option, texts).
std::vector<std::string> KeepUsed(std::vector<std::string> texts, const std::set<std::string>& backends);

// Says which are of no backend of the run; "" when none is. No error: a list may serve several machines.
std::string FindUnused(const PerBackendOption& option, const PerBackend& numbers,
                       const std::set<std::string>& backends);

}  // namespace assay
