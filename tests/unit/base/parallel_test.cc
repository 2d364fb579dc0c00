// SPDX-License-Identifier: Apache-2.0
#include "harness/base/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace assay {
namespace {

// Sum of 0 .. n-1, by counting each index once.
int64_t ParallelSum(int64_t n, int64_t grain) {
  std::atomic<int64_t> sum{0};
  ParallelFor(n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  return sum;
}

TEST(ParallelFor, CoversEveryIndexOnceInGrains) {
  for (int threads : {1, 2, 5}) {
    SetThreadCount(threads);
    EXPECT_EQ(ThreadCount(), threads);
    for (int64_t n : {0, 1, 7, 64, 1000, 4097}) {
      for (int64_t grain : {1, 8, 64, 5000}) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
        std::atomic<bool> grains = true;
        ParallelFor(n, grain, [&](int64_t begin, int64_t end) {
          if (begin % grain != 0 || (end % grain != 0 && end != n)) grains = false;
          for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
        });
        EXPECT_TRUE(grains);
        for (const auto& count : seen) ASSERT_EQ(count, 1);
      }
    }
  }
}

TEST(ParallelFor, UsesItsThreads) {
  SetThreadCount(4);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  std::atomic<int> arrived{0};
  // Four chunks that wait for each other need four threads.
  ParallelFor(4, 1, [&](int64_t, int64_t) {
    {
      std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    }
    ++arrived;
    for (int i = 0; i < 10000 && arrived < 4; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  EXPECT_EQ(ids.size(), 4u);
}

TEST(ParallelFor, NestedRunsInline) {
  SetThreadCount(4);
  std::atomic<int64_t> sum{0};
  std::atomic<bool> inline_always = true;
  ParallelFor(64, 1, [&](int64_t begin, int64_t end) {
    const auto outer = std::this_thread::get_id();
    ParallelFor(100 * (end - begin), 1, [&](int64_t b, int64_t e) {
      if (std::this_thread::get_id() != outer) inline_always = false;
      sum += e - b;
    });
  });
  EXPECT_EQ(sum, 6400);
  EXPECT_TRUE(inline_always);
}

TEST(ParallelFor, CallsFromSeveralThreads) {
  SetThreadCount(3);
  std::vector<int64_t> sums(6);
  std::vector<std::thread> callers;
  for (int64_t& sum : sums) {
    callers.emplace_back([&sum] {
      for (int i = 0; i < 50; ++i) sum = ParallelSum(5000, 16);
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (int64_t sum : sums) EXPECT_EQ(sum, 5000 * 4999 / 2);
}

// A child has none of its parent's threads; it must not wait for them.
TEST(ParallelFor, WorksInAForkedChild) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer does not start threads after a fork of a threaded process";
#endif
  SetThreadCount(3);
  ASSERT_EQ(ParallelSum(5000, 16), 5000 * 4999 / 2);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(ParallelSum(5000, 16) == 5000 * 4999 / 2 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(ParallelSum(5000, 16), 5000 * 4999 / 2);
}

}  // namespace
}  // namespace assay
