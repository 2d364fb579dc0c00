// SPDX-License-Identifier: Apache-2.0
// Which records of two runs belong together.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "harness/model/record.h"

namespace assay {

// The results of one case on one device of one run.
struct PlaceRecords {
  std::map<std::string, std::vector<const Record*>> by_implementation;  // several: devices of one name, in their order
  const Record* status = nullptr;  // why there is no implementation: unsupported, missing, crash...
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

}  // namespace assay
