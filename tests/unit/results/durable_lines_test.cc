// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/durable_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>

#include "tests/unit/temporary_folder.h"

namespace {

using namespace std::chrono_literals;

// A disk that takes long to say that it is broken.
enum class Disk { kGood, kBreaks, kIsBreaking, kIsBroken };
std::atomic<Disk> disk = Disk::kGood;

bool Waits(Disk from, std::chrono::seconds most = 60s) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (disk == from && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
  return disk != from;
}

}  // namespace

// Stands before that of the C library in this program.
extern "C" int fdatasync(int fd) {
  if (disk == Disk::kGood) return fsync(fd);
  Disk breaks = Disk::kBreaks;
  if (disk.compare_exchange_strong(breaks, Disk::kIsBreaking)) Waits(Disk::kIsBreaking);
  errno = EIO;
  return -1;
}

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string TextOf(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(DurableLines, AppendsToWhatIsThere) {
  const TemporaryFolder folder;
  const fs::path path = folder.Path("lines");
  {
    auto lines = DurableLines::Open(path, DurableLines::Mode::kCreate);
    ASSERT_TRUE(lines);
    ASSERT_TRUE((*lines)->Append("one\n"));
  }
  EXPECT_FALSE(DurableLines::Open(path, DurableLines::Mode::kCreate));
  auto lines = DurableLines::Open(path, DurableLines::Mode::kContinue);
  ASSERT_TRUE(lines);
  ASSERT_TRUE((*lines)->Append("two\n"));
  EXPECT_EQ(TextOf(path), "one\ntwo\n");
}

TEST(DurableLines, SayThatTheirFileWasDeleted) {
  const TemporaryFolder folder;
  const fs::path path = folder.Path("lines");
  auto lines = DurableLines::Open(path, DurableLines::Mode::kCreate);
  ASSERT_TRUE(lines);
  fs::remove(path);
  const Status status = (*lines)->Append("one\n");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("was deleted during the run"));
}

TEST(DurableLines, WhatFitsOnlyInPartIsCutOffAgain) {
  const TemporaryFolder folder;
  const fs::path path = folder.Path("lines");
  auto lines = DurableLines::Open(path, DurableLines::Mode::kCreate);
  ASSERT_TRUE(lines);
  ASSERT_TRUE((*lines)->Append("0123456789\n"));
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{15, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = (*lines)->Append("0123456789\n");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("File too large"));
  EXPECT_EQ(TextOf(path), "0123456789\n");
  EXPECT_TRUE((*lines)->Append("more\n"));
  EXPECT_EQ(TextOf(path), "0123456789\nmore\n");
}

TEST(DurableLines, ASyncWaitsForTheOneThatIsUnderWay) {
  const TemporaryFolder folder;
  auto lines = DurableLines::Open(folder.Path("lines"), DurableLines::Mode::kCreate);
  ASSERT_TRUE(lines);
  disk = Disk::kBreaks;
  ASSERT_TRUE((*lines)->Append("one\n"));
  ASSERT_TRUE(Waits(Disk::kBreaks)) << "nothing syncs by itself";
  auto synced = std::async(std::launch::async, [&lines] { return (*lines)->Sync(); });
  EXPECT_EQ(synced.wait_for(200ms), std::future_status::timeout) << "it says what it cannot know yet";
  disk = Disk::kIsBroken;
  const Status status = synced.get();
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("cannot be synced to the disk: Input/output error"));
  EXPECT_FALSE((*lines)->Append("two\n"));
  lines->reset();
  disk = Disk::kGood;
}

// On a disk of one page, in a process of its own whose mounts nobody else sees.
int FillDiskAndMakeRoom(const fs::path& folder) {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
  if (mount("none", folder.c_str(), "tmpfs", 0, "size=16k") != 0) return 77;
  std::ofstream(folder / "ballast") << std::string(8192, 'x');
  auto lines = DurableLines::Open(folder / "lines", DurableLines::Mode::kCreate);
  if (!lines) return 1;
  std::string said;
  (*lines)->SetWait({.seconds = 60, .say = [&](const std::string& text) {
                       said += text + "\n";
                       fs::remove(folder / "ballast");
                     }});
  const std::string line = std::string(999, 'y') + "\n";
  for (int i = 0; i < 10; ++i) {
    if (!(*lines)->Append(line)) return 2;
  }
  if (said.find("waits 60 s for room") == std::string::npos) return 3;
  if (said.find("there is room again") == std::string::npos) return 4;
  return fs::file_size(folder / "lines") == 10 * line.size() ? 0 : 5;
}

TEST(DurableLines, AFullDiskIsWaitedFor) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) _exit(FillDiskAndMakeRoom(folder.Path("")));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no disk of its own can be mounted without privileges";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace assay
