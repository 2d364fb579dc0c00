// SPDX-License-Identifier: Apache-2.0
// An option that gives a number for each backend: --launch-us.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/core/base/result.h"

namespace assay {

using PerBackend = std::map<std::string, double>;

// "cuda=200" for a backend, "20" for all others (under ""). Errors say what a number looks like, and its limits.
Result<PerBackend> ParsePerBackend(const std::vector<std::string>& texts);

// Returns nothing if there is a number neither for the backend nor for all others.
std::optional<double> ForBackend(const PerBackend& numbers, const std::string& backend);

// Keeps the texts for all backends or for one of the run. Precondition: ParsePerBackend(texts).
std::vector<std::string> KeepUsed(std::vector<std::string> texts, const std::set<std::string>& backends);

// Names the backends that the run does not have; "" if there are none. They are no error: a list may serve several
// machines.
std::string FindUnused(const PerBackend& numbers, const std::set<std::string>& backends);

}  // namespace assay
