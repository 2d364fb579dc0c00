// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/engine/device/health.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// "a" of one device, "b" of three.
std::vector<Device> FourDevices() {
  std::vector<Device> devices(4);
  BackendDescription description;
  for (int i = 0; i < 3; ++i) description.devices.push_back({.name = "Board", .driver = "1", .memory_bytes = 8});
  for (size_t i = 0; i < devices.size(); ++i) {
    Device& device = devices[i];
    device.backend = i == 0 ? "a" : "b";
    device.device_index = static_cast<uint32_t>(i == 0 ? 0 : i - 1);
    device.description = description;
    device.device = description.devices[device.device_index];
    if (i > 0) device.device.name = "Board #" + std::to_string(i - 1);
    device.selector = i == 0 ? "a" : "b:" + std::to_string(i - 1);
  }
  return devices;
}

std::string WhyRefused(std::vector<Device> devices) {
  const Status pooled = PoolDevices(devices);
  return pooled ? "" : pooled.error().message;
}

TEST(Pool, IsOfTheDevicesOfOneBackendAndHasTheNameWithoutTheirNumbers) {
  std::vector<Device> devices = FourDevices();
  EXPECT_THAT(QueueOfEach(devices), ElementsAre(0, 1, 2, 3));
  ASSERT_TRUE(PoolDevices(devices));
  EXPECT_EQ(devices[0].pool, "");
  for (const size_t i : {1, 2, 3}) {
    EXPECT_EQ(devices[i].pool, "Board");
    EXPECT_EQ(devices[i].PlannedName(), "Board");
  }
  EXPECT_THAT(QueueOfEach(devices), ElementsAre(0, 1, 1, 1));
}

TEST(Pool, IsRefusedWithEachFactThatDiffers) {
  std::vector<Device> devices = FourDevices();
  devices[2].device.driver = "2";
  devices[2].device.properties = "subnormals=no";
  devices[3].description.devices[2].name = "Other";
  EXPECT_THAT(WhyRefused(devices),
              AllOf(HasSubstr("of b are not alike: b:1 has the driver '2', b:0 '1'; b:1 has the properties "
                              "'subnormals=no', b:0 ''; b:2 has the name 'Other', b:0 'Board'. Choose")));
  devices = FourDevices();
  devices[3].device.memory_bytes = 4;
  EXPECT_THAT(WhyRefused(devices), HasSubstr("b:2 has the memory_bytes '4', b:0 '8'"));
  devices[3].problem = "it cannot be opened";  // nobody asks it
  EXPECT_EQ(WhyRefused(devices), "");
}

TEST(PoolHealth, WhatADeviceHadLeftIsForTheOthersUntilTheLastIsSetAside) {
  std::vector<Device> devices = FourDevices();
  ASSERT_TRUE(PoolDevices(devices));
  PoolHealth health(devices, 2);
  const auto crash = [&](size_t device) {
    for (int i = 0; i < 2; ++i) health.Note(device, "fft", "crash");
  };
  crash(1);
  EXPECT_FALSE(health.AcceptsCases(1, "fft"));
  EXPECT_TRUE(health.AcceptsCases(1, "matmul"));
  EXPECT_TRUE(health.AcceptsCases(2, "fft"));
  EXPECT_EQ(health.ExplainAbsence(1, "fft"), "");
  EXPECT_EQ(health.FindFor(1, "fft"), 2U);
  EXPECT_EQ(health.FindFor(1, "fft", {2}), 3U);
  crash(2);
  crash(3);
  for (const size_t i : {1, 2, 3}) EXPECT_TRUE(health.AcceptsCases(i, "fft"));  // one of them says why it is not run
  EXPECT_EQ(health.FindFor(1, "fft"), std::nullopt);
  EXPECT_THAT(health.ExplainAbsence(3, "fft"),
              AllOf(StartsWith("no device of the pool is left; Board #0: fft on this device"),
                    HasSubstr("; Board #2: fft on this device was set aside after 2")));
  EXPECT_TRUE(health.AcceptsCases(0, "fft"));
}

TEST(PoolHealth, ADeviceOfNoPoolHasNobodyElse) {
  const std::vector<Device> devices = FourDevices();
  PoolHealth health(devices, 1);
  health.Note(1, "fft", "crash");
  EXPECT_TRUE(health.AcceptsCases(1, "fft"));
  EXPECT_THAT(health.ExplainAbsence(1, "fft"), StartsWith("fft on this device was set aside after 1"));
  EXPECT_EQ(health.FindFor(1, "fft"), std::nullopt);
  EXPECT_EQ(health.ExplainAbsence(2, "fft"), "");
}

}  // namespace
}  // namespace assay
