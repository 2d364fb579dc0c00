// SPDX-License-Identifier: Apache-2.0
// The machine and build behind a run's numbers, for environment.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace assay {

nlohmann::ordered_json DescribeEnvironment();
std::string TimestampUtc();  // 2026-01-31T12:00:00Z
std::string ToolVersion();   // 0.1.0

}  // namespace assay
