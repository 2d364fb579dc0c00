// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "backends/common/backend.h"

namespace plugin {

void Plan::ExecuteTimed(Timing& timing) {
  using Clock = std::chrono::steady_clock;
  bool flushed = timing.cold;
  for (size_t r = 0; r < timing.seconds.size(); ++r) {
    const Args& args = timing.sets[r % timing.sets.size()];
    if (timing.cold) flushed = EvictOperands(args) && flushed;
    const auto begin = Clock::now();
    Execute(args);
    timing.seconds[r] = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  timing.clock_is_device = false;
  timing.cache_was_flushed = flushed && !timing.seconds.empty();
}

}  // namespace plugin
