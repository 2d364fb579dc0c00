// SPDX-License-Identifier: Apache-2.0
// How fast a candidate is beside the reference, of what was timed in turns.
#pragma once

#include <string>
#include <vector>

#include "harness/core/model/record.h"
#include "harness/tools/candidate/ruling.h"

namespace assay {

struct SpeedPair {
  const Record *candidate = nullptr, *reference = nullptr;
};

// The fastest implementation that has a time; null if none has.
const Record* FastestOf(const std::vector<const Record*>& records);

CandidateSpeed CompareSpeed(const std::vector<SpeedPair>& pairs);

}  // namespace assay
