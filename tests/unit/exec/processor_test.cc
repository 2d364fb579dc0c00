// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/processor.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>
#include <vector>

namespace assay {
namespace {

cpu_set_t Allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

std::vector<int64_t> ProcessorsOf(const cpu_set_t& set) {
  std::vector<int64_t> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return processors;
}

TEST(Processor, AThreadIsTakenThereAndLeftFree) {
  std::thread([] {
    const cpu_set_t before = Allowed();
    const std::vector<int64_t> processors = ProcessorsOf(before);
    if (processors.size() < 2) GTEST_SKIP() << "one processor to run on";
    // The thread may be moved on at any time, so where it was taken to shows in most of many moves.
    std::vector<int> found(processors.size());
    for (size_t i = 0; i < 100 * processors.size(); ++i) {
      MoveToProcessor(processors[i % processors.size()]);
      found[i % processors.size()] += CurrentProcessor() == processors[i % processors.size()];
    }
    for (const int times : found) EXPECT_GT(times, 80);
    const cpu_set_t after = Allowed();
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
  }).join();
}

TEST(Processor, WhereAThreadMayNotRunItIsNotTaken) {
  std::thread([] {
    const std::vector<int64_t> processors = ProcessorsOf(Allowed());
    cpu_set_t last;
    CPU_ZERO(&last);
    CPU_SET(static_cast<size_t>(processors.back()), &last);
    ASSERT_EQ(::sched_setaffinity(0, sizeof last, &last), 0);
    for (const int64_t other : {processors.front(), int64_t{-1}, int64_t{CPU_SETSIZE}, int64_t{1} << 40}) {
      MoveToProcessor(other);
      EXPECT_EQ(CurrentProcessor(), processors.back());
    }
    const cpu_set_t after = Allowed();
    EXPECT_TRUE(CPU_EQUAL(&last, &after));
  }).join();
}

}  // namespace
}  // namespace assay
