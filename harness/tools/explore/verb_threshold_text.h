// SPDX-License-Identifier: Apache-2.0
// Thresholds that a search found, as a table and as JSON.
#pragma once

#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/tools/explore/threshold_search.h"

namespace assay::cli {

inline constexpr const char* kThresholdsFile = "thresholds.json";

// Thresholds at which an implementation changes alike are one row. "": there are none.
std::string ThresholdsText(const std::vector<const ExtentLadder*>& ladders);

Json ThresholdsJson(const std::vector<const ExtentLadder*>& ladders);

}  // namespace assay::cli
