// SPDX-License-Identifier: Apache-2.0
// The margins and times of each result through many runs.
#pragma once

#include <string>
#include <vector>

#include "reports/compare/run_history.h"

namespace assay {

// Adds changes of bound margins and of times, what can be told of times, and the number of results.
void AddMarginsAndTimes(const std::vector<RunOfHistory>& runs, double minimum_effect, RunHistory& history);

}  // namespace assay
