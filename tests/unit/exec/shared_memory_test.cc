// SPDX-License-Identifier: Apache-2.0
// The receiving side is played by this process: what counts is what the descriptor allows.
#include "harness/exec/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace assay {
namespace {

constexpr size_t kBytes = 10000;

UniqueFd Received(const SharedMemory& memory) {
  return UniqueFd(::fcntl(memory.fd(), F_DUPFD_CLOEXEC, 0));
}

TEST(SharedMemory, BytesAreShared) {
  SharedMemory host = SharedMemory::Create(kBytes, Access::kReadWrite).value();
  SharedMemory worker = SharedMemory::Map(Received(host), kBytes, Access::kReadWrite).value();
  host.bytes()[7] = std::byte{42};
  EXPECT_EQ(worker.bytes()[7], std::byte{42});
  worker.bytes()[kBytes - 1] = std::byte{43};
  EXPECT_EQ(host.bytes()[kBytes - 1], std::byte{43});
}

TEST(SharedMemory, SizeIsSealed) {
  for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
    const SharedMemory host = SharedMemory::Create(kBytes, access).value();
    const UniqueFd fd = Received(host);
    EXPECT_NE(::ftruncate(fd.get(), 0), 0);
    EXPECT_NE(::ftruncate(fd.get(), 1 << 20), 0);
  }
}

TEST(SharedMemory, InputsCannotBeWrittenByWhoReceivesThem) {
  SharedMemory host = SharedMemory::Create(kBytes, Access::kReadOnly).value();
  const UniqueFd fd = Received(host);
  EXPECT_FALSE(SharedMemory::Map(Received(host), kBytes, Access::kReadWrite));
  EXPECT_LT(::pwrite(fd.get(), "x", 1, 0), 0);
  void* mapped = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_NE(::mprotect(mapped, kBytes, PROT_READ | PROT_WRITE), 0);
  ::munmap(mapped, kBytes);
  host.bytes()[0] = std::byte{1};  // the host still can
  EXPECT_EQ(SharedMemory::Map(Received(host), kBytes, Access::kReadOnly).value().bytes()[0], std::byte{1});
}

TEST(SharedMemoryDeathTest, WritingThroughAReadOnlyMappingCrashes) {
  ::setenv("ASAN_OPTIONS", "handle_segv=0", 1);
  const SharedMemory host = SharedMemory::Create(kBytes, Access::kReadOnly).value();
  SharedMemory worker = SharedMemory::Map(Received(host), kBytes, Access::kReadOnly).value();
  EXPECT_DEATH(worker.bytes()[0] = std::byte{1}, "");
}

TEST(SharedMemory, DiscardedPagesAreNobodysMemory) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  SharedMemory host = SharedMemory::Create(8 * page, Access::kReadWrite).value();
  const SharedMemory worker = SharedMemory::Map(Received(host), 8 * page, Access::kReadWrite).value();
  std::ranges::fill(host.bytes(), std::byte{1});
  const auto blocks = [&] {
    struct stat info {};
    EXPECT_EQ(::fstat(host.fd(), &info), 0);
    return info.st_blocks;
  };
  const auto all = blocks();
  host.Discard(page + 1, 3 * page);  // of which two pages are whole
  EXPECT_EQ(blocks(), all / 8 * 6);
  for (const size_t at : {page + 1, 2 * page - 1, 4 * page}) EXPECT_EQ(worker.bytes()[at], std::byte{1}) << at;
  for (const size_t at : {2 * page, 4 * page - 1}) EXPECT_EQ(worker.bytes()[at], std::byte{0}) << at;
  host.bytes()[2 * page] = std::byte{2};
  EXPECT_EQ(worker.bytes()[2 * page], std::byte{2});
}

TEST(SharedMemory, TooSmallAFileIsRefused) {
  const SharedMemory host = SharedMemory::Create(kBytes, Access::kReadWrite).value();
  const Result<SharedMemory> worker = SharedMemory::Map(Received(host), kBytes + 1, Access::kReadWrite);
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().message, "shared memory has 10000 bytes where 10001 are expected");
}

}  // namespace
}  // namespace assay
