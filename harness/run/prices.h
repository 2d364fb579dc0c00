// SPDX-License-Identifier: Apache-2.0
// --price: what an hour of a backend costs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/base/result.h"

namespace assay {

// "cuda=3.5" for a backend, "0.2" for all others (under ""). Errors say what a price looks like.
Result<std::map<std::string, double>> ParsePrices(const std::vector<std::string>& texts);

// Says which prices are of no backend of the run; "" when none is. No error: a list of prices may serve several
// machines.
std::string FindUnusedPrices(const std::map<std::string, double>& prices, const std::set<std::string>& backends);

}  // namespace assay
