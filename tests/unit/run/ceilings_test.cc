// SPDX-License-Identifier: Apache-2.0
#include "harness/run/ceilings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/abi/assay_backend.h"

namespace assay {
namespace {

constexpr double kCache = 1e6;

// What a run with one backend on the host's processors measures of the memory.
struct OfHost {
  explicit OfHost(double available_bytes)
      : ceilings(
            devices, {}, [] { return false; }, [=] { return available_bytes; }),
        ceiling(ceilings.For(devices[0], DType::kF32)) {}

  static Device HostDevice() {
    Device device;
    device.device.type = ASSAY_DEVICE_CPU;
    device.device.properties = "cache_bytes=1000000";
    return device;
  }
  const std::vector<Device> devices = {HostDevice()};
  Ceilings ceilings;
  Ceiling ceiling;
};

TEST(BandwidthProbe, FourTimesTheCachesOrHalfOfTheMemory) {
  EXPECT_EQ(BandwidthProbeBytes(kCache, 1e12).value(), 4 * kCache);
  EXPECT_EQ(BandwidthProbeBytes(kCache, 8 * kCache).value(), 4 * kCache);
  EXPECT_EQ(BandwidthProbeBytes(kCache, 5 * kCache).value(), 2.5 * kCache);
  EXPECT_EQ(BandwidthProbeBytes(kCache, 4 * kCache).value(), 2 * kCache);
  EXPECT_FALSE(BandwidthProbeBytes(kCache, 3.9 * kCache));
}

TEST(BandwidthProbe, TheHostIsMeasuredThroughWhatTheMemoryAllows) {
  const OfHost plenty(1e12), little(6e6);
  for (const OfHost* host : {&plenty, &little}) {
    EXPECT_GT(host->ceiling.gbytes_per_s.value_or(0), 0);
    EXPECT_TRUE(host->ceilings.Json()["given_up"].empty());
  }
  EXPECT_EQ(plenty.ceilings.Json()["memory"][0]["how"].get<std::string>().find("read 4 MiB by"), 0u);
  const std::string how = little.ceilings.Json()["memory"][0]["how"];
  EXPECT_EQ(how.find("read 3 MiB by"), 0u) << how;
  EXPECT_NE(how.find("less than four times the caches"), std::string::npos) << how;
}

TEST(BandwidthProbe, WithoutMemoryThereIsNoCeilingAndItSaysWhy) {
  const OfHost host(2e6);
  EXPECT_FALSE(host.ceiling.gbytes_per_s);
  const auto json = host.ceilings.Json();
  EXPECT_TRUE(json["memory"].empty());
  ASSERT_EQ(json["given_up"].size(), 1u);
  EXPECT_EQ(json["given_up"][0]["hardware"], kHostHardware);
  const std::string reason = json["given_up"][0]["reason"];
  EXPECT_NE(reason.find("takes 2 MiB, twice the caches, and at most half of the 2 MiB"), std::string::npos) << reason;
}

}  // namespace
}  // namespace assay
