// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

#include "harness/exec/shared_time.h"

namespace assay {
namespace {

// Time slice of the calling thread; 0 if the kernel has no slices of single threads (before Linux 6.12).
uint64_t SliceNs() {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
  } attributes{};
  EXPECT_EQ(::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0), 0);
  return attributes.runtime_ns;
}

TEST(CallClock, MakesTheSlicesOfItsThreadShorterAndOfNoOther) {
  const uint64_t before = SliceNs();
  uint64_t during = 0, of_child = 0;
  std::thread([&] {
    const CallClock clock;
    during = SliceNs();
    std::thread([&] { of_child = SliceNs(); }).join();
    EXPECT_GT(clock.Seconds(), 0);
  }).join();
  EXPECT_EQ(SliceNs(), before);
  EXPECT_EQ(of_child, before);
  if (before == 0) GTEST_SKIP() << "this kernel has no slices of single threads";
  EXPECT_EQ(during, 100'000u);
}

}  // namespace
}  // namespace assay
