// SPDX-License-Identifier: Apache-2.0
// Matches the records of two runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/core/model/record.h"

namespace assay {

// The results of one case on one device, or on a pool of them, of one run.
struct PlaceRecords {
  // Several of one name: devices of one name, in their order, or one shape judged on several data.
  std::map<std::string, std::vector<const Record*>> by_implementation;
  // Records without an implementation: why there is none (unsupported, missing, crash...), or the result of `assay
  // check`.
  std::vector<const Record*> others;
};

struct MatchedPlace {
  std::string case_id, backend, device;  // the device as the new run names it
  bool device_renamed = false;
  PlaceRecords base, now;
};

// Places in the order of the base, then those of the new run alone. `renamed` gets "backend: old -> new" for each
// backend whose only device has another name in the new run.
std::vector<MatchedPlace> MatchRecords(const std::vector<Record>& base, const std::vector<Record>& now,
                                       std::vector<std::string>& renamed);

struct RecordPair {
  const Record *base = nullptr, *now = nullptr;  // null: the other run has fewer records
};

// The records of one key, each in a pair: those of equal inputs belong together, then those of equal order. What the
// new run has more of stands beside the base's record of the same inputs, so that no failure hides behind a pass.
std::vector<RecordPair> PairRecords(const std::vector<const Record*>& base, const std::vector<const Record*>& now);

}  // namespace assay
