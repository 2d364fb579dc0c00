// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "backends/common/backend.h"
#include "backends/common/status.h"

namespace plugin {

void Plan::ExecuteBatch(Batch& batch) {
  using Clock = std::chrono::steady_clock;
  bool flushed = batch.cold;
  for (size_t i = 0; i < batch.args.size(); ++i) {
    const Args& args = *batch.args[i];
    if (batch.cold) flushed = EvictOperands(args) && flushed;
    const auto begin = Clock::now();
    Execute(args);
    batch.seconds[i] = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  batch.clock_is_device = false;
  batch.cache_was_flushed = flushed && !batch.args.empty();
}

PlanInfo Plan::Info() const {
  throw Unsupported("this plan does not tell what it came to");
}

std::vector<Capability> Device::Capabilities() {
  throw Unsupported("this backend has no table of capabilities; ask query()");
}

}  // namespace plugin
