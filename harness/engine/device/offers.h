// SPDX-License-Identifier: Apache-2.0
// Cache of the implementations that devices offer for a problem: each device is asked once.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "harness/engine/device/device.h"

namespace assay {

// May be asked from any thread, one call at a time for each device.
class Offers {
 public:
  using Answer = Call<std::vector<ImplementationInfo>>;

  // A failure other than "unsupported" is not kept: the next worker may answer.
  Answer Find(const Device& device, const Problem& problem, const LayoutVariant& layout = {});

 private:
  std::mutex mutex_;  // guards the map
  std::map<std::string, Answer> known_;
};

}  // namespace assay
