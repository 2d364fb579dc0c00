// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/perf/machine_state.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace assay {
namespace {

namespace fs = std::filesystem;

class MachineState : public testing::Test {
 protected:
  // Each process has its own folder: tests of one program run at the same time.
  MachineState() : root_(fs::path(testing::TempDir()) / fmt::format("assay_machine_state_{}", ::getpid())) {}
  ~MachineState() override { fs::remove_all(root_); }
  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text << '\n';
  }
  const fs::path root_;
};

TEST_F(MachineState, NothingIsMadeUp) {
  const PackageState none = ReadPackageState(root_);
  EXPECT_TRUE(none.packages.empty());
  EXPECT_FALSE(none.throttle_events);
  EXPECT_FALSE(MeanPackagePower(none, none));
  const auto json = DescribeMachineState(root_);
  for (const char* key : {"clock_mhz", "temperature_celsius", "throttle_events", "load_average", "stolen_cpu_s"}) {
    EXPECT_TRUE(json.at(key).is_null()) << key;
  }
}

TEST_F(MachineState, ReadsWhatLinuxTells) {
  Write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1500000");
  Write("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3500000");
  Write("sys/devices/system/cpu/cpufreq/other", "1");
  for (const char* cpu : {"cpu0", "cpu1"}) {
    Write(std::string("sys/devices/system/cpu/") + cpu + "/thermal_throttle/core_throttle_count", "3");
    Write(std::string("sys/devices/system/cpu/") + cpu + "/thermal_throttle/package_throttle_count", "1");
  }
  Write("sys/class/thermal/thermal_zone0/temp", "45000");
  Write("sys/class/thermal/thermal_zone1/temp", "61500");
  Write("proc/loadavg", "1.25 1 1 1/2 3");
  Write("proc/stat", "cpu 1 2 3 4 5 6 7 " + std::to_string(2 * sysconf(_SC_CLK_TCK)) + " 0 0");
  const auto json = DescribeMachineState(root_);
  EXPECT_EQ(json["clock_mhz"]["min"], 1500);
  EXPECT_EQ(json["clock_mhz"]["mean"], 2500);
  EXPECT_EQ(json["clock_mhz"]["max"], 3500);
  EXPECT_EQ(json["temperature_celsius"], 61.5);
  EXPECT_EQ(json["throttle_events"], 8);
  EXPECT_EQ(json["load_average"], 1.25);
  EXPECT_EQ(json["stolen_cpu_s"], 2);
}

// Two packages of two cores with two threads each; a thread that came online late has counted less.
TEST_F(MachineState, AnEventOfACoreOrAPackageCountsOnce) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string folder = fmt::format("sys/devices/system/cpu/cpu{}/", cpu);
    const int core = cpu % 4, package = core / 2, late = cpu == 7 ? 1 : 0;
    Write(folder + "topology/core_cpus_list", fmt::format("{},{}", core, core + 4));
    Write(folder + "topology/package_cpus_list", package == 0 ? "0-1,4-5" : "2-3,6-7");
    Write(folder + "thermal_throttle/core_throttle_count", std::to_string(10 + core - late));
    Write(folder + "thermal_throttle/package_throttle_count", std::to_string(100 * (1 + package) - late));
  }
  EXPECT_EQ(ReadPackageState(root_).throttle_events, 10 + 11 + 12 + 13 + 100 + 200);
}

TEST_F(MachineState, OlderKernelsNameTheSharedProcessorsOtherwise) {
  for (const char* cpu : {"0", "1"}) {
    const std::string folder = fmt::format("sys/devices/system/cpu/cpu{}/", cpu);
    Write(folder + "topology/thread_siblings_list", cpu);
    Write(folder + "topology/core_siblings_list", "0-1");
    Write(folder + "thermal_throttle/core_throttle_count", "3");
    Write(folder + "thermal_throttle/package_throttle_count", "20");
  }
  EXPECT_EQ(ReadPackageState(root_).throttle_events, 3 + 3 + 20);
}

TEST_F(MachineState, PowerIsEnergyOverTimeAlsoWhereACounterBeginsAgain) {
  for (const char* zone : {"0", "1", "0:0"}) {
    Write(std::string("sys/class/powercap/intel-rapl:") + zone + "/energy_uj", "9000000");
    Write(std::string("sys/class/powercap/intel-rapl:") + zone + "/max_energy_range_uj", "10000000");
  }
  PackageState before = ReadPackageState(root_);
  ASSERT_EQ(before.packages.size(), 2u);
  Write("sys/class/powercap/intel-rapl:0/energy_uj", "9500000");
  Write("sys/class/powercap/intel-rapl:1/energy_uj", "2000000");
  PackageState after = ReadPackageState(root_);
  after.when = before.when + std::chrono::milliseconds(500);
  EXPECT_DOUBLE_EQ(MeanPackagePower(before, after).value(), (0.5 + 3) / 0.5);
  before.packages[1].range = 0;
  EXPECT_FALSE(MeanPackagePower(before, after));
}

}  // namespace
}  // namespace assay
