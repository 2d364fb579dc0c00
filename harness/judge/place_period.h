// SPDX-License-Identifier: Apache-2.0
// Finds a period in failing coordinates: columns 4-7 of every 16, as a wrong lane or tile leaves them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace assay {

// All coordinates are in first + k period + [0, width).
struct PlacePeriod {
  int64_t first = 0, width = 0, period = 0;
};

// `coordinates`: ascending, below `size`. Nothing: so many random ones would lie as regularly more than once in 1,000
// times, or they are in fewer than three periods or in few of those between the first and the last. `share`: they are a
// random sample, which has that part of all failing coordinates.
std::optional<PlacePeriod> FindPeriod(std::span<const int64_t> coordinates, int64_t size, double share = 1);

}  // namespace assay
