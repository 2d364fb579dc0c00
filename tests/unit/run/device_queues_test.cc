// SPDX-License-Identifier: Apache-2.0
#include "harness/run/lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "harness/base/lazy.h"
#include "harness/exec/worker_session.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Columns 0 and 2 share a session; none of these sessions ever starts a worker.
std::vector<Device> ThreeColumns() {
  std::vector<Device> columns(3);
  columns[0].session = columns[2].session = std::make_shared<WorkerSession>(SessionOptions());
  columns[1].session = std::make_shared<WorkerSession>(SessionOptions());
  return columns;
}

TEST(Lanes, LanesRunAtOnceAndTheColumnsOfOneInOrder) {
  const std::vector<Device> columns = ThreeColumns();
  Lanes lanes(columns, 2, SecondWorkers::kNever);
  ASSERT_EQ(lanes.size(), 2u);
  for (int round = 0; round < 3; ++round) {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<size_t> begun, ended;
    // Device 0 ends only when 1 has begun, and 1 only when 0 has: together or never.
    lanes.ForEach(2, 1, [&](size_t, size_t c, const Device&) {
      std::unique_lock lock(mutex);
      begun.push_back(c);
      changed.notify_all();
      const auto both = [&] { return begun.size() >= 2; };
      EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), both));
      ended.push_back(c);
    });
    EXPECT_THAT(ended, UnorderedElementsAre(0, 1, 2));
    EXPECT_LT(std::ranges::find(ended, 0u), std::ranges::find(ended, 2u));
  }
}

TEST(Lanes, ALaneGoesOnToItsNextCaseWhileAnotherIsStillAtWork) {
  const std::vector<Device> columns = ThreeColumns();
  Lanes lanes(columns, 2, SecondWorkers::kNever);
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<size_t> of_lane_0, of_lane_1;
  // Device 1 ends its first case only when the other lane has ended all of its three.
  lanes.ForEach(2, 3, [&](size_t item, size_t c, const Device&) {
    std::unique_lock lock(mutex);
    if (c == 1) {
      EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return of_lane_0.size() == 6; }));
      of_lane_1.push_back(item);
    } else {
      of_lane_0.push_back(item);
      changed.notify_all();
    }
  });
  EXPECT_THAT(of_lane_0, ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(of_lane_1, ElementsAre(0, 1, 2));
}

TEST(Lanes, OneAtATimeIsInOrder) {
  const std::vector<Device> columns = ThreeColumns();
  Lanes lanes(columns, 2, SecondWorkers::kNever);
  std::atomic<int> running = 0;
  std::vector<size_t> order;
  lanes.ForEach(1, 1, [&](size_t, size_t c, const Device&) {
    EXPECT_EQ(++running, 1);
    order.push_back(c);
    --running;
  });
  EXPECT_THAT(order, UnorderedElementsAre(0, 1, 2));
  std::vector<size_t> alone;
  Lanes(columns, 1, SecondWorkers::kNever).ForEach(2, 1, [&](size_t, size_t c, const Device&) { alone.push_back(c); });
  EXPECT_THAT(alone, UnorderedElementsAre(0, 1, 2));
}

TEST(Lanes, WhatIsThrownEndsItsLaneAloneAndReachesTheCaller) {
  const std::vector<Device> columns = ThreeColumns();
  Lanes lanes(columns, 2, SecondWorkers::kNever);
  std::atomic<int> done = 0;
  const auto work = [&](size_t, size_t c, const Device&) {
    if (c == 1) throw std::runtime_error("column 1");
    ++done;
  };
  EXPECT_THROW(lanes.ForEach(2, 1, work), std::runtime_error);
  EXPECT_EQ(done, 2);
  lanes.ForEach(2, 1, [&](size_t, size_t, const Device&) { ++done; });  // and is forgotten
  EXPECT_EQ(done, 5);
}

TEST(Lazy, IsMadeOnceForAllThreads) {
  Lazy<int> lazy;
  EXPECT_EQ(lazy.IfMade(), nullptr);
  EXPECT_THROW(lazy.Get([]() -> int { throw std::runtime_error("no memory"); }), std::runtime_error);
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(lazy.Get([&] { return ++made; }), 1); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(*lazy.IfMade(), 1);
}

}  // namespace
}  // namespace assay
