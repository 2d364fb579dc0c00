// SPDX-License-Identifier: Apache-2.0
#include "backends/common/cache.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/temporary_folder.h"

namespace plugin {
namespace {

namespace fs = std::filesystem;

class CacheFolder : public testing::Test {
 protected:
  void Add(int cpu, int index, const char* level, const char* type, const char* size, const char* shared) {
    const fs::path folder = root_ / ("cpu" + std::to_string(cpu)) / "cache" / ("index" + std::to_string(index));
    fs::create_directories(folder);
    const auto write = [&](const char* name, const char* text) { std::ofstream(folder / name) << text << '\n'; };
    write("level", level), write("type", type), write("size", size), write("shared_cpu_list", shared);
  }
  const assay::TemporaryFolder files_;
  const fs::path root_ = files_.Path("");
};

TEST_F(CacheFolder, CountsEachLastLevelCacheOnce) {
  EXPECT_EQ(LastLevelCacheBytesBelow(root_), 0u);
  for (int cpu = 0; cpu < 4; ++cpu) {
    Add(cpu, 0, "1", "Data", "32K", std::to_string(cpu).c_str());
    Add(cpu, 1, "1", "Instruction", "64K", std::to_string(cpu).c_str());
    Add(cpu, 2, "2", "Unified", "1024K", std::to_string(cpu).c_str());
  }
  EXPECT_EQ(LastLevelCacheBytesBelow(root_), uint64_t{4} << 20);
  for (int cpu = 0; cpu < 4; ++cpu) Add(cpu, 3, "3", "Unified", "32768K", cpu < 2 ? "0-1" : "2-3");
  EXPECT_EQ(LastLevelCacheBytesBelow(root_), uint64_t{64} << 20);
}

TEST(Caches, EvictedBytesKeepTheirValues) {
  std::vector<std::byte> bytes(100'003);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  EvictFromCaches(std::span(bytes).subspan(1));
  EvictFromCaches({});
  CacheFlusher().Flush();
  for (size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], static_cast<std::byte>(i * 7)) << i;
}

}  // namespace
}  // namespace plugin
