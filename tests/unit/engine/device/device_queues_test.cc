// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/device_queues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "harness/core/base/lazy.h"
#include "harness/core/base/stopwatch.h"
#include "harness/exec/worker_session.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

// None of these sessions ever starts a worker. The last device cannot be used, and has none.
std::vector<Device> ThreeDevices() {
  std::vector<Device> devices(3);
  for (const size_t d : {0, 1}) devices[d].session = std::make_shared<WorkerSession>(SessionOptions());
  return devices;
}

TEST(DeviceQueues, DevicesAreServedAtOnce) {
  const std::vector<Device> devices = ThreeDevices();
  DeviceQueues queues(devices, 3);
  for (int round = 0; round < 3; ++round) {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<size_t> begun;
    // Each ends only when all have begun: together or never.
    queues.ForEach(3, 1, [&](size_t, size_t device) {
      std::unique_lock lock(mutex);
      begun.push_back(device);
      changed.notify_all();
      EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return begun.size() == 3; }));
    });
    EXPECT_THAT(begun, UnorderedElementsAre(0, 1, 2));
  }
}

TEST(DeviceQueues, ADeviceGoesOnToItsNextCaseWhileAnotherIsStillAtWork) {
  std::vector<Device> devices = ThreeDevices();
  devices.resize(2);
  DeviceQueues queues(devices, 2);
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<size_t> of[2];
  // Device 1 ends its first case only when the other one has ended all of its three.
  queues.ForEach(2, 3, [&](size_t item, size_t device) {
    std::unique_lock lock(mutex);
    if (device == 1) {
      EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return of[0].size() == 3; }));
    }
    of[device].push_back(item);
    changed.notify_all();
  });
  EXPECT_THAT(of[0], ElementsAre(0, 1, 2));
  EXPECT_THAT(of[1], ElementsAre(0, 1, 2));
}

TEST(DeviceQueues, DevicesOfAPoolTakeEachCaseOnceAndOneMayLeaveThemToTheOther) {
  std::vector<Device> devices = ThreeDevices();
  devices.resize(2);
  for (Device& device : devices) device.pool = "pool";
  DeviceQueues queues(devices, 2);
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<size_t> items;
  std::vector<size_t> of[2];
  const auto note = [&](size_t item, size_t device) {
    std::unique_lock lock(mutex);
    items.push_back(item);
    of[device].push_back(item);
    changed.notify_all();
    // Neither ends its first case before the other has begun one.
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return !of[0].empty() && !of[1].empty(); }));
  };
  queues.ForEach(2, 4, note);
  EXPECT_THAT(items, UnorderedElementsAre(0, 1, 2, 3));
  items.clear();
  const auto not_after_1 = [](size_t item, size_t device) { return device == 1 || item <= 1; };
  of[0].clear(), of[1].clear();
  queues.ForEach(2, 4, note, true, not_after_1);
  EXPECT_THAT(items, UnorderedElementsAre(0, 1, 2, 3));
  EXPECT_THAT(of[1], testing::IsSupersetOf({2U, 3U}));
}

// A device with one further worker.
Device DeviceWithTwoWorkers() {
  Device device;
  device.session = std::make_shared<WorkerSession>(SessionOptions());
  device.beside = {std::make_shared<WorkerSession>(SessionOptions())};
  return device;
}

TEST(DeviceQueues, FurtherWorkersTakeCasesOfTheirDevice) {
  const std::vector<Device> devices = {DeviceWithTwoWorkers()};
  DeviceQueues queues(devices, 2);
  ASSERT_EQ(queues.lanes(), 2U);
  EXPECT_EQ(queues.IndexOf(1), 0U);
  EXPECT_EQ(queues.DeviceOf(1).session, devices[0].beside[0]);
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<size_t> begun, lanes;
  // Each case ends only when both have begun.
  queues.ForEach(2, 2, [&](size_t item, size_t lane) {
    std::unique_lock lock(mutex);
    begun.push_back(item), lanes.push_back(lane);
    changed.notify_all();
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return begun.size() == 2; }));
  });
  EXPECT_THAT(begun, UnorderedElementsAre(0, 1));
  EXPECT_THAT(lanes, UnorderedElementsAre(0, 1));
}

TEST(DeviceQueues, FurtherWorkersAreLeftOutWhereTheyAreNotWanted) {
  const std::vector<Device> devices = {DeviceWithTwoWorkers()};
  DeviceQueues queues(devices, 2);
  std::vector<size_t> lanes;
  const auto note = [&](size_t, size_t lane) { lanes.push_back(lane); };
  queues.ForEach(2, 3, note, false);
  queues.ForEach(1, 2, note);
  EXPECT_THAT(lanes, ElementsAre(0, 0, 0, 0, 0));
}

TEST(DeviceQueues, OneAtATimeIsInOrder) {
  const std::vector<Device> devices = ThreeDevices();
  DeviceQueues queues(devices, 2);
  std::atomic<int> running = 0;
  std::vector<size_t> order;
  queues.ForEach(1, 1, [&](size_t, size_t device) {
    EXPECT_EQ(++running, 1);
    order.push_back(device);
    --running;
  });
  EXPECT_THAT(order, UnorderedElementsAre(0, 1, 2));
  std::vector<size_t> alone;
  DeviceQueues(devices, 1).ForEach(2, 1, [&](size_t, size_t device) { alone.push_back(device); });
  EXPECT_THAT(alone, ElementsAre(0, 1, 2));
}

// Every device is tried once; what it took then says how much it has left.
TEST(DeviceQueues, TheOneWithMostLeftIsServedFirst) {
  std::vector<Device> devices = ThreeDevices();
  devices.resize(2);
  DeviceQueues queues(devices, 1);
  std::vector<size_t> order;
  double quick_s = 0;
  const Stopwatch watch;
  queues.ForEach(1, 4, [&](size_t, size_t device) {
    order.push_back(device);
    if (device == 0) return;
    // Many times what the other one took, on a machine that is busy elsewhere too.
    if (quick_s == 0) quick_s = watch.Seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(0.1 + 20 * quick_s));
  });
  EXPECT_THAT(order, ElementsAre(0, 1, 1, 1, 1, 0, 0, 0));
}

TEST(DeviceQueues, WhatIsThrownEndsNoOtherWorkAndReachesTheCaller) {
  const std::vector<Device> devices = ThreeDevices();
  DeviceQueues queues(devices, 2);
  std::atomic<int> done = 0;
  const auto work = [&](size_t, size_t device) {
    if (device == 1) throw std::runtime_error("device 1");
    ++done;
  };
  EXPECT_THROW(queues.ForEach(2, 1, work), std::runtime_error);
  EXPECT_EQ(done, 2);
  queues.ForEach(2, 1, [&](size_t, size_t) { ++done; });  // and is forgotten
  EXPECT_EQ(done, 5);
}

TEST(Lazy, IsMadeOnceForAllThreads) {
  Lazy<int> lazy;
  EXPECT_EQ(lazy.GetIfMade(), nullptr);
  EXPECT_THROW(lazy.Get([]() -> int { throw std::runtime_error("no memory"); }), std::runtime_error);
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(lazy.Get([&] { return ++made; }), 1); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(*lazy.GetIfMade(), 1);
}

}  // namespace
}  // namespace assay
