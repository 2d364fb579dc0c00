// SPDX-License-Identifier: Apache-2.0
// Which cases of a run are judged together before each is timed: devices then wait for each other once a group and not
// once a case, so that one that compiles for long keeps no core idle.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "harness/plan/suite.h"

namespace assay {

// At least one. Together no larger than kLargeCaseBytes unless alone, as all of a group is in memory at once.
inline constexpr size_t kMostCasesInGroup = 8;

struct CaseGroup {
  size_t begin = 0, end = 0;  // of the plan's cases
  double bytes = 0;           // of memory that they need together where each is run (BytesNeeded)
};

// All cases, in order. Those of a group together take no more memory than `most_bytes`, so that none is too large for
// its neighbours' sake. `tier` as in ChooseTier.
std::vector<CaseGroup> GroupCases(std::span<const PlannedCase> cases, const std::string& tier = "auto",
                                  double most_bytes = std::numeric_limits<double>::infinity());

}  // namespace assay
