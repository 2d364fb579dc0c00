// SPDX-License-Identifier: Apache-2.0
// Clocks, temperature, throttling, package power and caches of the host, as the operating system reports them. Most
// virtual machines report only caches. Accelerators are left out, since their libraries would have to be loaded for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/core/model/record.h"

namespace assay {

// Cheap enough to be read around every timing.
struct PackageState {
  struct Energy {
    uint64_t microjoules = 0, range = 0;  // the counter begins again after `range`
  };
  std::chrono::steady_clock::time_point when;
  std::vector<Energy> packages;            // RAPL; empty where it cannot be read
  std::optional<int64_t> throttle_events;  // of each core and package once, since boot
};

// `root` is where /sys and /proc are, for tests.
PackageState ReadPackageState(const std::filesystem::path& root = "/");

// Watts of all packages between both; null without counters.
Number MeanPackagePower(const PackageState& before, const PackageState& after);

// For environment.json: clock frequencies, temperature, throttling, load and the time that the hypervisor took away.
Json DescribeMachineState(const std::filesystem::path& root = "/");

// Bytes of all last-level caches of data that the processors below `cpus` reach; 0 where the system does not tell. A
// plugin is not asked: what it says would move its own limits.
double HostCacheBytes(const std::filesystem::path& cpus = "/sys/devices/system/cpu");

}  // namespace assay
