// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/timing/ceilings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/abi/assay_backend.h"

namespace assay {
namespace {

constexpr double kCache = 1e6;

// Ceilings of a run with one backend on the host's processors.
struct OfHost {
  explicit OfHost(double available_bytes)
      : ceilings(devices, {}, [] { return false; }, {},
                 {.available_bytes = [=] { return available_bytes; }, .cache_bytes = [] { return kCache; }}),
        ceiling(ceilings.FindCeiling(devices[0], DType::kF32, InputRounding::kExact)) {}

  static Device HostDevice() {
    Device device;
    device.device.type = ASSAY_DEVICE_CPU;
    device.device.properties = "cache_bytes=1000000000";  // a claim that would move its own ceiling
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
    EXPECT_GT(host->ceiling.memory.giga_per_s.value_or(0), 0);
    EXPECT_TRUE(host->ceilings.ToJson()["given_up"].empty());
  }
  EXPECT_EQ(plenty.ceilings.ToJson()["memory"][0]["how"].get<std::string>().find("read 4 MiB by"), 0u);
  const std::string how = little.ceilings.ToJson()["memory"][0]["how"];
  EXPECT_EQ(how.find("read 3 MiB by"), 0u) << how;
  EXPECT_NE(how.find("less than four times the caches"), std::string::npos) << how;
}

TEST(BandwidthProbe, WithoutMemoryThereIsNoCeilingAndItSaysWhy) {
  const OfHost host(2e6);
  EXPECT_FALSE(host.ceiling.memory.giga_per_s);
  const auto json = host.ceilings.ToJson();
  EXPECT_TRUE(json["memory"].empty());
  ASSERT_EQ(json["given_up"].size(), 1u);
  EXPECT_EQ(json["given_up"][0]["hardware"], kHostHardware);
  const std::string reason = json["given_up"][0]["reason"];
  EXPECT_NE(reason.find("needs 2 MiB, twice the caches, which is over half of the 2 MiB"), std::string::npos) << reason;
}

// Devices without a worker, so that nothing can be probed.
Device Named(const std::string& backend, const std::string& plugin, const std::string& name, bool host) {
  Device device;
  device.backend = device.selector = backend, device.description.name = plugin, device.device.name = name;
  device.device.type = host ? ASSAY_DEVICE_CPU : ASSAY_DEVICE_CUDA;
  return device;
}

// A host of 100 GFLOP/s in f32 when it is first measured, and 10 more each time after.
struct Measured {
  explicit Measured(std::vector<Device> all, const std::string& toml = "")
      : devices(std::move(all)),
        ceilings(devices, {}, [] { return false; }, toml.empty() ? DataSheet() : ParseDataSheet(toml, "s.toml").value(),
                 {.available_bytes = [] { return 0.0; },
                  .peak =
                      [this](int) {
                        ++peaks;
                        return HostPeak{90.0 + 10 * peaks, 50.0, "fused", "fused"};
                      },
                  .units = [] { return NarrowUnits{.avx512_bf16 = true}; },
                  .cache_bytes = [] { return kCache; }}) {}

  Ceiling Of(DType dtype, InputRounding in = InputRounding::kExact, Above above = {}) {
    return ceilings.FindCeiling(devices[0], dtype, in, above);
  }
  std::vector<Device> devices;
  int peaks = 0;
  Ceilings ceilings;
};

TEST(Ceilings, TheHostIsBoundByWhatAssayMeasuredOnce) {
  Measured host({Named("cheat", "cheat", "processor", true)});
  const Ceiling f32 = host.Of(DType::kF32);
  EXPECT_EQ(f32.compute.giga_per_s, 100);
  EXPECT_TRUE(f32.compute.bounds && f32.most_compute.bounds);
  EXPECT_FALSE(f32.compute.own);
  EXPECT_EQ(f32.most_compute.giga_per_s, 100);
  EXPECT_EQ(host.Of(DType::kC128).compute.giga_per_s, 50);
  const Ceiling bf16 = host.Of(DType::kBF16);
  EXPECT_FALSE(bf16.compute.giga_per_s);  // nobody else multiplies
  EXPECT_EQ(bf16.most_compute.giga_per_s, 200);
  EXPECT_FALSE(host.Of(DType::kI8).most_compute.bounds);
  EXPECT_EQ(host.peaks, 1);
  const auto json = host.ceilings.ToJson();
  ASSERT_EQ(json["compute"].size(), 2u);
  EXPECT_EQ(json["compute"][0]["origin"], "assay");
  EXPECT_EQ(json["compute"][0]["gflops"], 100);
}

TEST(Ceilings, ThePeakIsMeasuredAgainAtMostTwice) {
  Measured host({Named("fast", "fast", "processor", true)});
  EXPECT_EQ(host.Of(DType::kF32).compute.giga_per_s, 100);
  const Above above{.compute = true};
  for (const double peak : {110, 120, 120}) {
    EXPECT_EQ(host.Of(DType::kF32, InputRounding::kExact, above).compute.giga_per_s, peak);
  }
  EXPECT_EQ(host.peaks, 3);
}

TEST(Ceilings, ADataSheetHoldsInPlaceOfWhatAssayMeasures) {
  Measured gpu({Named("gpu", "gpu", "GPU 9", false)},
               "[[device]]\nname = \"GPU*\"\ngbytes_per_s = 700\ngflops.f32 = 9000\ngflops.tf32 = 70000");
  const Ceiling f32 = gpu.Of(DType::kF32);
  EXPECT_EQ(f32.memory.giga_per_s, 700);
  EXPECT_EQ(f32.most_compute.giga_per_s, 9000);
  EXPECT_TRUE(f32.memory.bounds && f32.most_compute.bounds);
  EXPECT_EQ(f32.compute.from, "data sheet: s.toml:1");
  EXPECT_EQ(gpu.Of(DType::kF32, InputRounding::kTF32RN).most_compute.giga_per_s, 70000);
  EXPECT_FALSE(gpu.Of(DType::kBF16).most_compute.bounds);
  const auto json = gpu.ceilings.ToJson();
  EXPECT_EQ(json["memory"][0]["origin"], "data sheet");
  EXPECT_EQ(json["memory"][0]["how"], "s.toml:1");
  Measured host({Named("cpu", "cpu", "processor", true)}, "[[device]]\nname = \"host\"\ngflops.f32 = 77");
  EXPECT_EQ(host.Of(DType::kF32).most_compute.giga_per_s, 77);
  EXPECT_EQ(host.Of(DType::kF64).most_compute.giga_per_s, 50);
}

TEST(Witnesses, TheFastestOfAnotherPluginIsTaken) {
  const Device device = Named("base", "vendor", "GPU", false);
  const std::vector<Witness> all = {{9, "new", "GPU", "vendor", "", "", ""},  // another build of the same plugin
                                    {5, "other", "GPU", "library", "", "", ""},
                                    {8, "base", "GPU", "vendor", "", "", ""},
                                    {6, "third", "GPU", "", "", "", ""}};
  for (const size_t count : {2, 3}) {
    const WitnessFor found = FindWitness({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)}, device);
    EXPECT_EQ(found.witness->backend, "other");
    EXPECT_FALSE(found.own);
  }
  EXPECT_EQ(FindWitness(all, device).witness->backend, "third");
  const WitnessFor alone = FindWitness({all[2], all[0]}, device);
  EXPECT_EQ(alone.witness->value, 9);
  EXPECT_TRUE(alone.own);
  EXPECT_EQ(FindWitness({}, device).witness, nullptr);
}

}  // namespace
}  // namespace assay
