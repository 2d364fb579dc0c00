// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/shared_time.h"

#include <algorithm>

namespace assay {

double SharedTime::Seconds() {
  const std::lock_guard lock(mutex_);
  Pass();
  return seconds_;
}

void SharedTime::Count(int more) {
  const std::lock_guard lock(mutex_);
  Pass();
  at_work_ += more;
}

void SharedTime::Pass() {
  const Clock::time_point now = Clock::now();
  seconds_ += std::chrono::duration<double>(now - last_).count() / std::max(1, at_work_);
  last_ = now;
}

}  // namespace assay
