// SPDX-License-Identifier: Apache-2.0
// How fast a candidate is beside the reference, of what was timed in turns.
#pragma once

#include <string>
#include <vector>

#include "harness/candidate/ruling.h"
#include "harness/model/record.h"

namespace assay {

struct SpeedPair {
  const Record *candidate = nullptr, *reference = nullptr;
};

// Of several implementations the fastest that has a time: null where none has.
const Record* FastestOf(const std::vector<const Record*>& records);

CandidateSpeed CompareSpeed(const std::vector<SpeedPair>& pairs);

}  // namespace assay
