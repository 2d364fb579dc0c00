// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/cases/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <vector>

#include "harness/core/model/case_spec.h"
#include "ops/operator.h"
#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

using ::testing::ElementsAre;

Problem Bound(const char* id) {
  const CaseSpec spec = ParseId(id).value();
  return *OperatorRegistry::Global().Find(spec.op)->Bind(spec);
}

double ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

constexpr const char* kSquare = "matmul/f32/m=1000,n=1000,k=1000/fill=normal/seed=0";

// Properties that hold for each use, whatever its numbers are.
class Needs : public ::testing::TestWithParam<MemoryUse> {
 protected:
  double Bytes(const char* id, const char* tier = "auto") { return BytesNeeded(Bound(id), GetParam(), tier); }
};
INSTANTIATE_TEST_SUITE_P(Uses, Needs, ::testing::Values(MemoryUse::kRun, MemoryUse::kJudgement));

TEST_P(Needs, AreProportionalToTheCase) {
  const double large = Bytes("exp/f32/n=40000000/fill=normal/seed=0");
  EXPECT_NEAR(large, 4 * Bytes("exp/f32/n=10000000/fill=normal/seed=0"), 0.05 * large);  // but for a fixed part
  // 1e24 elements overflow an integer.
  EXPECT_GT(Bytes("matmul/f32/m=1000000000,n=1000000000,k=1/fill=normal/seed=0"), 4e19);
}

// Judging reads them in place, piece by piece.
TEST(NeedsOfJudgements, SumsAndPlacesOfIntegersTakeTheirArrayAlone) {
  const auto bytes = [](const char* id) { return BytesNeeded(Bound(id), MemoryUse::kJudgement, "auto"); };
  EXPECT_LE(bytes("reduce/i8-i64/shape=4294971395,axes=0/fill=ramp/seed=0"), 2.01 * 4294971395);
  EXPECT_LE(bytes("reduce/i8-i64/shape=4294971395,axes=0,kind=argmax/fill=ramp/seed=0"), 2.01 * 4294971395);
  EXPECT_GE(bytes("reduce/f32/shape=4294971395,axes=0/fill=ramp/seed=0"), 16.0 * 4294971395);
}

// Its terms are scaled one by one, by blocks along both of their axes, so that the numbers of all are there at once.
TEST_P(Needs, OfAFormulaAreThoseOfItsLargestBlock) {
  const auto bytes = [&](const char* per) {
    const std::string id = "scaled_mm/e4m3-e4m3-f32-f32-bf16/m=1,n=18432,k=7168,per=" + std::string(per);
    return Bytes((id + "/fill=normal/seed=0").c_str());
  };
  EXPECT_GT(bytes("block"), 6e10);
  EXPECT_LT(bytes("tensor"), 2e10);
}

TEST_P(Needs, GrowWithTypesOutputsAndTheTier) {
  const double f32 = Bytes("exp/f32/n=1000/fill=normal/seed=0"), f64 = Bytes("exp/f64/n=1000/fill=normal/seed=0");
  EXPECT_GT(f32, Bytes("exp/bf16/n=1000/fill=normal/seed=0"));
  EXPECT_GT(f64, f32);
  const double tier = Bytes("exp/f32/n=1000/fill=normal/seed=0", "reproducible") - f32;
  EXPECT_GE(tier, 1000 * 16);  // a second plane of doubles, and what computes it
  EXPECT_DOUBLE_EQ(Bytes("exp/f64/n=1000/fill=normal/seed=0", "fast") + tier, f64);
  // A complex number is two.
  EXPECT_DOUBLE_EQ(Bytes("fft/c64/kind=c2c,n=64,batch=2/fill=normal/seed=0"),
                   2 * Bytes("fft/c64/kind=c2c,n=64/fill=normal/seed=0"));
  EXPECT_GT(Bytes("layer_norm/f32/rows=1000,n=2,stats=1/fill=normal/seed=0"),
            Bytes("layer_norm/f32/rows=1000,n=2/fill=normal/seed=0") + 2000 * 64);
}

TEST(Needs, OfARunAreMoreThanThoseOfAJudgement) {
  for (const char* id : {kSquare, "softmax/f32/shape=100x100,axis=1/fill=normal/seed=0",
                         "reduce/f64/shape=100x100,axes=1,kind=sum/fill=normal/seed=0"}) {
    EXPECT_GT(BytesNeeded(Bound(id), MemoryUse::kRun, "auto"), BytesNeeded(Bound(id), MemoryUse::kJudgement, "auto"))
        << id;
  }
}

TEST(CheckFits, ComparesWhatTheCaseNeeds) {
  const auto fits = [](MemoryUse use, double available) {
    return CheckFitsHost(Bound(kSquare), use, "auto", [available] { return available; });
  };
  for (const MemoryUse use : {MemoryUse::kRun, MemoryUse::kJudgement}) {
    const double bytes = BytesNeeded(Bound(kSquare), use, "auto");
    EXPECT_TRUE(fits(use, bytes));
    EXPECT_FALSE(fits(use, bytes - 1));
  }
  const std::string message = fits(MemoryUse::kJudgement, 47e6).error().message;
  EXPECT_NE(message.find("need about 0.15 GB, and 0.047 GB"), std::string::npos) << message;
}

TEST(CheckFileFits, ComparesTwiceTheSizeOfTheFile) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.Path("large.npy");
  std::ofstream(path).put('x');
  std::filesystem::resize_file(path, 160'000'000'000);  // takes no space
  EXPECT_TRUE(CheckFileFits(path, 320e9));
  const Status fits = CheckFileFits(path, 319e9);
  std::filesystem::remove(path);
  ASSERT_FALSE(fits);
  EXPECT_NE(fits.error().message.find("large.npy has 160 GB; reading it takes twice as much, and 319 GB of memory"),
            std::string::npos)
      << fits.error().message;
  EXPECT_TRUE(CheckFileFits(path, 0)) << "there is no file now";
}

class AvailableMemory : public ::testing::Test {
 protected:
  void SetUp() override { Write("meminfo", "MemTotal: 9000 kB\nMemAvailable: 1000 kB\n"); }
  void Write(const char* name, const char* text) const { files_.Write(name, text); }
  double Bytes() const { return AvailableBytesIn(folder_ / "meminfo", folder_); }

  const TemporaryFolder files_;
  const std::filesystem::path folder_ = files_.Path("");
};

TEST_F(AvailableMemory, IsTheHostsWithoutALimit) {
  EXPECT_EQ(Bytes(), 1000 * 1024);
  Write("memory.current", "100\n");
  Write("memory.max", "max\n");
  EXPECT_EQ(Bytes(), 1000 * 1024);
  EXPECT_EQ(AvailableBytesIn(folder_ / "none", folder_), std::numeric_limits<double>::infinity());
}

TEST_F(AvailableMemory, IsWhatTheControlGroupMayStillTake) {
  Write("memory.current", "300000\n");
  Write("memory.max", "400000\n");
  EXPECT_EQ(Bytes(), 100000);
  Write("memory.stat", "anon 200000\nfile 100000\ninactive_file 60000\n");
  EXPECT_EQ(Bytes(), 160000);
  Write("memory.max", "200000\n");
  EXPECT_EQ(Bytes(), 0);
  Write("memory.max", "9000000\n");
  EXPECT_EQ(Bytes(), 1000 * 1024);
}

TEST_F(AvailableMemory, IsWhatAControlGroupOfVersion1MayStillTake) {
  Write("memory.usage_in_bytes", "300000\n");
  Write("memory.limit_in_bytes", "400000\n");
  Write("memory.stat", "cache 1\ntotal_inactive_file 60000\n");
  EXPECT_EQ(Bytes(), 160000);
}

TEST(MemoryGroups, AreThoseOfTheProcessAndAllAbove) {
  std::istringstream second("0::/user.slice/job 7\n");
  EXPECT_THAT(MemoryGroupsIn(second, "/cg"), ElementsAre("/cg", "/cg", "/cg/user.slice", "/cg/user.slice/job 7"));
  std::istringstream first("3:cpu,cpuacct:/a\n2:hugetlb,memory:/a/b\nnonsense\n");
  EXPECT_THAT(MemoryGroupsIn(first, "/cg"), ElementsAre("/cg", "/cg/memory", "/cg/memory/a", "/cg/memory/a/b"));
}

TEST(AvailableBytes, AreNoMoreThanTheAddressSpaceHasLeft) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "shadow memory has most of it";
#endif
  const rlimit small{rlim_t{1} << 32, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &small), 0);
  const double available = AvailableBytes();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_GT(available, 0);
  EXPECT_LT(available, 4294967296.0);
}

TEST(CountParallelDevices, LargeCasesAreJudgedOneDeviceAfterTheOther) {
  EXPECT_EQ(CountParallelDevices(Bound("matmul/f32/m=64,n=64,k=64/fill=normal/seed=0"), "auto", 4), 4u);
  // 8 MB of inputs three times, and 52 bytes for each of 1e6 outputs: 76 MB, of which 134 MB hold one.
  EXPECT_EQ(CountParallelDevices(Bound(kSquare), "auto", 4), 2u);
  EXPECT_EQ(CountParallelDevices(Bound("matmul/f32/m=16,n=4096,k=4096/fill=normal/seed=0"), "auto", 4), 1u);
  EXPECT_EQ(CountParallelDevices(Bound(kSquare), "auto", 0), 1u);
}

TEST(CountParallelDevices, FurtherOnesHaveWhatTheCaseLeaves) {
  const double bytes = BytesNeeded(Bound(kSquare), MemoryUse::kRun, "auto");
  EXPECT_EQ(CountParallelDevices(Bound(kSquare), "auto", 4, [bytes] { return bytes + 80e6; }), 2u);
  EXPECT_EQ(CountParallelDevices(Bound(kSquare), "auto", 4, [bytes] { return bytes + 70e6; }), 1u);
  EXPECT_EQ(CountParallelDevices(Bound(kSquare), "auto", 4, [] { return 0.0; }), 1u);
  const Problem small = Bound("matmul/f32/m=64,n=64,k=64/fill=normal/seed=0");
  EXPECT_EQ(CountParallelDevices(small, "auto", 4, [] { return 0.0; }), 4u) << "nobody asks";
}

TEST(CountParallelDevices, ReproducibleGoldenValuesLeaveLessToFurtherOnes) {
  const auto available = [] { return BytesNeeded(Bound(kSquare), MemoryUse::kRun, "fast") + 80e6; };
  EXPECT_EQ(CountParallelDevices(Bound(kSquare), "fast", 4, available), 2u);
  EXPECT_EQ(CountParallelDevices(Bound(kSquare), "reproducible", 4, available), 1u);
}

// Sets the allocator up as a run does: it keeps freed memory, here below a block that is still in use.
TEST(CheckFits, MemoryThatTheProgramFreedAndKeepsIsAvailable) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have allocators of their own";
#endif
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  const double before = ResidentBytes();
  auto tensor = std::make_unique<std::vector<char>>(256 << 20, 'x');
  const auto above = std::make_unique<std::vector<char>>(1 << 20, 'y');
  tensor.reset();
  ASSERT_GT(ResidentBytes() - before, 200e6);
  // A host with room for one case in addition to the program's earlier memory.
  const double room = BytesNeeded(Bound(kSquare), MemoryUse::kJudgement, "auto") + 20e6;
  const auto available = [before, room] { return room - (ResidentBytes() - before); };
  ASSERT_LT(available(), 0);
  const Status fits = CheckFitsHost(Bound(kSquare), MemoryUse::kJudgement, "auto", available);
  EXPECT_TRUE(fits) << fits.error().message;
}

}  // namespace
}  // namespace assay
