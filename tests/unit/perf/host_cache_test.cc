// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "harness/engine/perf/machine_state.h"
#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct Cpus : testing::Test {
  void Add(int cpu, int index, const char* level, const char* type, const char* size, const char* shared) const {
    const fs::path cache = root / ("cpu" + std::to_string(cpu)) / "cache" / ("index" + std::to_string(index));
    fs::create_directories(cache);
    std::ofstream(cache / "level") << level << '\n';
    std::ofstream(cache / "type") << type << '\n';
    std::ofstream(cache / "size") << size << '\n';
    std::ofstream(cache / "shared_cpu_list") << shared << '\n';
  }
  const TemporaryFolder files;
  const fs::path root = files.Path("");
};

TEST_F(Cpus, HaveEachCacheOfTheLastLevelOnce) {
  EXPECT_EQ(HostCacheBytes(root), 0);
  for (int cpu = 0; cpu < 4; ++cpu) {
    Add(cpu, 0, "1", "Instruction", "64K", std::to_string(cpu).c_str());
    Add(cpu, 1, "2", "Unified", "1024K", std::to_string(cpu).c_str());
    fs::create_directories(root / ("cpu" + std::to_string(cpu)) / "cache/power");  // beside them, without a level
  }
  EXPECT_EQ(HostCacheBytes(root), 4 * 0x1p20);
  for (int cpu = 0; cpu < 4; ++cpu) Add(cpu, 2, "3", "Unified", "32768K", cpu < 2 ? "0-1" : "2-3");
  EXPECT_EQ(HostCacheBytes(root), 2 * 0x1p25);
}

}  // namespace
}  // namespace assay
