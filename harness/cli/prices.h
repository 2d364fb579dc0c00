// SPDX-License-Identifier: Apache-2.0
// --price: what an hour of a backend costs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/base/result.h"

namespace assay::cli {

// "cuda=3.5" for a backend, "0.2" for all others (under ""). Errors say what a price looks like.
Result<std::map<std::string, double>> ParsePrices(const std::vector<std::string>& texts);

}  // namespace assay::cli
