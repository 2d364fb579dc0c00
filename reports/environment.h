// SPDX-License-Identifier: Apache-2.0
// environment.json as rows of names and texts, whatever it holds: nested keys are joined by '.'.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace assay {

using EnvironmentRows = std::vector<std::pair<std::string, std::string>>;

// In the order of the file. Text that is not a JSON object gives no rows: reports are written without it.
EnvironmentRows FlattenEnvironment(const std::string& environment_json);

// The value of a row, "" when absent.
std::string EnvironmentValue(const EnvironmentRows& rows, const std::string& name);

}  // namespace assay
