// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/perf/host_cache.h"

#include <fstream>
#include <map>
#include <string>
#include <system_error>

namespace assay {
namespace {

namespace fs = std::filesystem;

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
