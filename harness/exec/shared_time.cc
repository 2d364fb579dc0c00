// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/shared_time.h"

#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace assay {
namespace {

constexpr uint64_t kShortSliceNs = 100'000;  // the shortest that Linux grants

// sched_setattr(2); the C library has neither the call nor its argument.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes), policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0, deadline_ns = 0, period_ns = 0;
};

// With the flag none of it comes to threads and processes that this one starts, and so not to workers.
void AskForShortSlices() {
  SchedulingAttributes attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return;
  attributes.runtime_ns = kShortSliceNs;
  attributes.flags |= SCHED_FLAG_RESET_ON_FORK;
  (void)::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

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

CallClock::CallClock() {
  thread_local const bool asked = (AskForShortSlices(), true);
  (void)asked;
  watch_ = Stopwatch();  // not with what that took
}

}  // namespace assay
