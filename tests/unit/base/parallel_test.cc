// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
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

TEST(ParallelFor, OnThisThreadKeepsLoopsHere) {
  SetThreadCount(4);
  const auto threads_of = [] {
    std::mutex mutex;
    std::set<std::thread::id> threads;
    ParallelFor(1000, 1, [&](int64_t, int64_t) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    });
    return threads;
  };
  {
    const OnThisThread alone;
    EXPECT_EQ(threads_of(), std::set{std::this_thread::get_id()});
    { const OnThisThread not_again(false); }
    EXPECT_EQ(threads_of().size(), 1U);
  }
  const OnThisThread not_at_all(false);
  EXPECT_GT(threads_of().size(), 1U);
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

std::runtime_error MakeError(int64_t begin) {
  return std::runtime_error("told to at " + std::to_string(begin));
}

TEST(ParallelFor, WhatABodyThrowsReachesTheCallerAndThePoolGoesOn) {
  for (const int threads : {1, 2, 4}) {
    SetThreadCount(threads);
    for (const int64_t n : {1, 4, 1000}) {
      EXPECT_THROW(ParallelFor(n, 1, [](int64_t, int64_t) { throw std::bad_alloc(); }), std::bad_alloc);
      // On the thread that has the last index, mostly one of the pool.
      const auto last = [n](int64_t begin, int64_t end) {
        if (end == n) throw MakeError(begin);
      };
      EXPECT_THROW(ParallelFor(n, 1, last), std::runtime_error);
      EXPECT_EQ(ParallelSum(5000, 16), 5000 * 4999 / 2);
    }
  }
}

TEST(ParallelFor, AfterAThrowAllThreadsStillWork) {
  SetThreadCount(4);
  std::atomic<int> threw{0};
  // All of them throw: each chunk waits for the three others.
  const auto all_throw = [&](int64_t, int64_t) {
    ++threw;
    for (int i = 0; i < 10000 && threw < 4; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    throw std::bad_alloc();
  };
  EXPECT_THROW(ParallelFor(4, 1, all_throw), std::bad_alloc);
  EXPECT_EQ(threw, 4);
  std::atomic<int> arrived{0};
  ParallelFor(4, 1, [&](int64_t, int64_t) {
    ++arrived;
    for (int i = 0; i < 10000 && arrived < 4; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(arrived, 4);
  });
}

TEST(ParallelFor, AfterAThrowNobodyBeginsAnotherChunk) {
  SetThreadCount(2);
  std::atomic<int64_t> done{0};
  // Two chunks are begun; the one that goes on looks for another when there has long been the throw.
  const auto body = [&](int64_t begin, int64_t end) {
    done += end - begin;
    for (int i = 0; begin == 0 && i < 10000 && done == end; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (begin == 0) throw MakeError(begin);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  };
  EXPECT_THROW(ParallelFor(1 << 20, 1, body), std::runtime_error);
  EXPECT_LT(done, (1 << 20) / 2);
}

TEST(ParallelFor, ANestedThrowGoesThroughBoth) {
  SetThreadCount(3);
  const auto inner = [](int64_t begin, int64_t) { throw MakeError(begin); };
  EXPECT_THROW(ParallelFor(64, 1, [&](int64_t, int64_t) { ParallelFor(8, 1, inner); }), std::runtime_error);
  EXPECT_EQ(ParallelSum(5000, 16), 5000 * 4999 / 2);
}

TEST(ParallelFor, CallersFromSeveralThreadsGetTheirOwn) {
  SetThreadCount(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([caller] {
      for (int i = 0; i < 50; ++i) {
        try {
          ParallelFor(100, 1, [&](int64_t, int64_t) { throw caller; });
          ADD_FAILURE() << "nothing was thrown";
        } catch (const int thrown) {
          EXPECT_EQ(thrown, caller);
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
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
