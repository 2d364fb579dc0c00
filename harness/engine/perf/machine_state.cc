// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/perf/machine_state.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <system_error>

namespace assay {
namespace {

namespace fs = std::filesystem;

template <class T>
std::optional<T> NumberIn(const fs::path& path) {
  std::ifstream file(path);
  T value{};
  return file >> value ? std::optional<T>(value) : std::nullopt;
}

// Folders in `parent` whose names begin so, "cpu" and a digit.
std::vector<fs::path> Numbered(const fs::path& parent, const std::string& prefix) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    const std::string name = entry.path().filename().string();
    if (name.size() > prefix.size() && name.starts_with(prefix) && std::isdigit(name[prefix.size()]) != 0) {
      folders.push_back(entry.path());
    }
  }
  std::ranges::sort(folders);
  return folders;
}

std::vector<double> ClocksMhz(const fs::path& root) {
  std::vector<double> clocks;
  for (const fs::path& cpu : Numbered(root / "sys/devices/system/cpu", "cpu")) {
    if (const auto khz = NumberIn<double>(cpu / "cpufreq/scaling_cur_freq")) clocks.push_back(*khz * 1e-3);
  }
  if (!clocks.empty()) return clocks;
  std::ifstream file(root / "proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("cpu MHz")) clocks.push_back(std::strtod(line.c_str() + line.find(':') + 1, nullptr));
  }
  return clocks;
}

// Seconds of all processors; null where the kernel does not count them.
Number StolenSeconds(const fs::path& root) {
  std::ifstream file(root / "proc/stat");
  std::string name;
  double ticks[8] = {};
  file >> name;
  for (double& value : ticks) file >> value;
  if (!file || name != "cpu") return std::nullopt;
  return ticks[7] / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// The processors that share something with this one, as the kernel lists them; its own folder where it does not say.
std::string Sharing(const fs::path& cpu, std::initializer_list<const char*> lists) {
  for (const char* list : lists) {
    if (const auto processors = NumberIn<std::string>(cpu / "topology" / list)) return *processors;
  }
  return cpu.string();
}

// Every processor of a core counts the core's events, and every one of a package the package's: the most that one of
// them has counted, as those that were offline began later.
std::optional<int64_t> ThrottleEvents(const fs::path& root) {
  std::map<std::string, int64_t> cores, packages;
  const auto count = [](std::map<std::string, int64_t>& units, const std::string& unit, const fs::path& counter) {
    const auto events = NumberIn<int64_t>(counter);
    if (events) units[unit] = std::max(units[unit], *events);
  };
  for (const fs::path& cpu : Numbered(root / "sys/devices/system/cpu", "cpu")) {
    // The second name is that of kernels before 5.2.
    count(cores, Sharing(cpu, {"core_cpus_list", "thread_siblings_list"}),
          cpu / "thermal_throttle/core_throttle_count");
    count(packages, Sharing(cpu, {"package_cpus_list", "core_siblings_list"}),
          cpu / "thermal_throttle/package_throttle_count");
  }
  if (cores.empty() && packages.empty()) return std::nullopt;
  int64_t events = 0;
  for (const auto& units : {cores, packages}) {
    for (const auto& [unit, counted] : units) events += counted;
  }
  return events;
}

Number Hottest(const fs::path& root) {
  Number hottest;
  for (const fs::path& zone : Numbered(root / "sys/class/thermal", "thermal_zone")) {
    const auto millidegrees = NumberIn<double>(zone / "temp");
    if (millidegrees) hottest = std::max(*millidegrees * 1e-3, hottest.value_or(-273));
  }
  return hottest;
}

template <class T>
void Put(Json& out, const char* key, const std::optional<T>& value) {
  value ? out[key] = *value : out[key] = nullptr;
}

template <class T>
T Read(const fs::path& path) {
  T value{};
  std::ifstream(path) >> value;
  return value;
}

// The kernel writes kibibytes: "32768K".
double SizeOf(const fs::path& cache) {
  return 1024 * Read<double>(cache / "size");
}

}  // namespace

PackageState ReadPackageState(const fs::path& root) {
  PackageState state;
  state.when = std::chrono::steady_clock::now();
  for (const fs::path& zone : Numbered(root / "sys/class/powercap", "intel-rapl:")) {
    // "intel-rapl:0:0" is a part of "intel-rapl:0".
    const std::string name = zone.filename().string();
    if (std::ranges::count(name, ':') > 1) continue;
    const auto energy = NumberIn<uint64_t>(zone / "energy_uj");
    if (energy) state.packages.push_back({*energy, NumberIn<uint64_t>(zone / "max_energy_range_uj").value_or(0)});
  }
  state.throttle_events = ThrottleEvents(root);
  return state;
}

Number MeanPackagePower(const PackageState& before, const PackageState& after) {
  const double seconds = std::chrono::duration<double>(after.when - before.when).count();
  if (before.packages.empty() || before.packages.size() != after.packages.size() || seconds <= 0) return std::nullopt;
  double joules = 0;
  for (size_t i = 0; i < after.packages.size(); ++i) {
    const auto [begin, range] = before.packages[i];
    const uint64_t end = after.packages[i].microjoules;
    if (end < begin && range < begin) return std::nullopt;  // where the counter began again is not known
    joules += 1e-6 * static_cast<double>(end >= begin ? end - begin : end + range - begin);
  }
  return joules / seconds;
}

Json DescribeMachineState(const fs::path& root) {
  Json out;
  if (const std::vector<double> clocks = ClocksMhz(root); !clocks.empty()) {
    const auto [low, high] = std::ranges::minmax(clocks);
    const double mean = std::accumulate(clocks.begin(), clocks.end(), 0.0) / static_cast<double>(clocks.size());
    out["clock_mhz"] = {{"min", low}, {"mean", mean}, {"max", high}};
  } else {
    out["clock_mhz"] = nullptr;
  }
  Put(out, "temperature_celsius", Hottest(root));
  Put(out, "throttle_events", ReadPackageState(root).throttle_events);
  Put(out, "load_average", NumberIn<double>(root / "proc/loadavg"));
  Put(out, "stolen_cpu_s", StolenSeconds(root));
  return out;
}

double HostCacheBytes(const fs::path& cpus) {
  std::map<int, std::map<std::string, double>> levels;  // the bytes of each cache by who shares it
  std::error_code error;
  for (const auto& cpu : fs::directory_iterator(cpus, error)) {
    for (const auto& cache : fs::directory_iterator(cpu.path() / "cache", error)) {
      if (!fs::exists(cache.path() / "level") || Read<std::string>(cache.path() / "type") == "Instruction") continue;
      levels[Read<int>(cache.path() / "level")][Read<std::string>(cache.path() / "shared_cpu_list")] =
          SizeOf(cache.path());
    }
  }
  double bytes = 0;
  if (!levels.empty()) {
    for (const auto& [shared, size] : levels.rbegin()->second) bytes += size;
  }
  return bytes;
}

}  // namespace assay
