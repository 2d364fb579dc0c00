// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "harness/exec/sandbox/worker_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class RemoveFolderTest : public testing::Test {
 protected:
  RemoveFolderTest() : outside_(*WorkerFolder::Create()), path_(outside_.path() / "folder") {
    fs::create_directories(path_);
  }
  void ExpectGone() {
    EXPECT_EQ(RemoveFolder(path_), "");
    EXPECT_FALSE(fs::exists(path_));
  }

  WorkerFolder outside_;
  const fs::path path_;
};

// No path leads to the innermost of them, and no process has a descriptor for each.
TEST_F(RemoveFolderTest, TakesFoldersInFolders) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{1000, before.rlim_max};
  const int back = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::chdir(path_.c_str()), 0);
  for (int i = 0; i < 5000; ++i) {
    ASSERT_EQ(::mkdir("d", 0700), 0);
    ASSERT_EQ(::chdir("d"), 0);
  }
  std::ofstream("file") << "x";
  ASSERT_EQ(::fchdir(back), 0);
  ::close(back);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  ExpectGone();
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(RemoveFolderTest, TakesManyFoldersOfWhateverName) {
  for (int i = 0; i < 300; ++i) {
    const fs::path folder = path_ / ("moved-" + std::to_string(i)) / "a" / "moved-0";
    fs::create_directories(folder);
    std::ofstream(folder / "moved-1") << "x";
  }
  std::ofstream(path_ / "moved-400") << "x";
  ExpectGone();
}

TEST_F(RemoveFolderTest, TakesWhatItsOwnerMayNotTouch) {
  fs::create_directories(path_ / "a/b/c");
  std::ofstream(path_ / "a/b/c/file") << "x";
  for (const char* name : {"a/b/c", "a/b", "a"}) ::chmod((path_ / name).c_str(), 0);
  ExpectGone();
}

TEST_F(RemoveFolderTest, FollowsNoLink) {
  fs::create_directories(outside_.path() / "kept/inner");
  std::ofstream(outside_.path() / "kept/file") << "x";
  fs::create_directory_symlink(outside_.path() / "kept", path_ / "link");
  fs::create_directories(path_ / "a");
  fs::create_directory_symlink(outside_.path() / "kept", path_ / "a/link");
  ExpectGone();
  EXPECT_TRUE(fs::exists(outside_.path() / "kept/file"));
  EXPECT_TRUE(fs::exists(outside_.path() / "kept/inner"));
}

TEST_F(RemoveFolderTest, SaysWhatCannotBeRemoved) {
  EXPECT_EQ(RemoveFolder(outside_.path() / "absent"), "");
  EXPECT_NE(RemoveFolder("/proc/self/task"), "");
}

}  // namespace
}  // namespace assay
