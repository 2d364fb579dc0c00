// SPDX-License-Identifier: Apache-2.0
#include "golden/store/store_files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "golden/sums/sum.h"
#include "harness/core/base/atomic_file.h"
#include "harness/core/data/safetensors.h"
#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Kind = StoreFile::Kind;

class StoreFiles : public ::testing::Test {
 protected:
  static GoldenKey Key(const std::string& id) { return {.case_id = id, .input_hash = "00ff", .tier = Tier::kFast}; }
  fs::path Save(const std::string& id) const {
    const std::vector<double> x = {1, 2, 3, 4};
    const GoldenStore store(root_);
    EXPECT_TRUE(store.Save(Key(id), GoldenRowSums(x, 2, 2, Tier::kFast, false, 0, false)).has_value());
    return store.PathOf(Key(id));
  }
  // A file of the given version under the name that this version gives it.
  fs::path SaveVersion(const std::string& id, int version) const {
    auto file = ReadSafetensors(Save(id)).value();
    fs::remove(GoldenStore(root_).PathOf(Key(id)));
    file.metadata["golden_version"] = std::to_string(version);
    const fs::path path = root_ / StoreFileName(Key(id), kGeneratorVersion, version);
    const Tensor& value = *file.Find("value");
    EXPECT_TRUE(
        WriteSafetensors(path, {{"value", value.dtype(), value.shape(), value.data()}}, file.metadata).has_value());
    return path;
  }
  static void Age(const fs::path& path, int seconds) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
  }
  std::vector<fs::path> Left() const {
    std::vector<fs::path> paths;
    const std::vector<StoreFile> files = ListStore(root_).value();
    for (const StoreFile& file : files) paths.push_back(file.path);
    return paths;
  }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.Path("store");
};

TEST_F(StoreFiles, AreListedByWhatTheySay) {
  EXPECT_TRUE(ListStore(root_).value().empty());
  const fs::path old = SaveVersion("a", kGoldenVersion - 1), b = Save("b"), a = Save("a");
  Age(b, 100);
  const fs::path damaged = root_ / "12" / "1234567890abcdef.safetensors";
  fs::create_directories(damaged.parent_path());
  std::ofstream(damaged) << "short";
  std::ofstream(root_ / "readme") << "x";
  const fs::path gone = root_ / "12" / "1234567890abcdef.safetensors.999999.0.tmp";
  std::ofstream(gone) << "half";

  const auto files = ListStore(root_).value();
  ASSERT_EQ(files.size(), 6U);
  EXPECT_EQ(files[0].path, old);
  EXPECT_EQ(files[0].kind, Kind::kOtherVersion);
  EXPECT_EQ(files[0].golden_version, kGoldenVersion - 1);
  EXPECT_EQ(files[1].path, a);
  EXPECT_EQ(files[1].kind, Kind::kGolden);
  EXPECT_EQ(files[1].bytes, static_cast<int64_t>(fs::file_size(a)));
  EXPECT_EQ(files[2].key.case_id, "b");
  EXPECT_NEAR(files[2].age_s, 100, 50);
  std::map<fs::path, Kind> rest;
  for (size_t i = 3; i < 6; ++i) rest[files[i].path] = files[i].kind;
  EXPECT_EQ(rest, (std::map<fs::path, Kind>{
                      {damaged, Kind::kDamaged}, {gone, Kind::kTemporary}, {root_ / "readme", Kind::kForeign}}));
}

TEST_F(StoreFiles, OtherVersionsDamagedAndAbandonedOnesGo) {
  const fs::path keep = Save("a"), stranger = root_ / "readme";
  SaveVersion("b", kGoldenVersion + 1);
  std::ofstream(keep.parent_path() / "7777777777777777.safetensors.999999.0.tmp") << "half";
  std::ofstream(stranger) << "x";
  EXPECT_EQ(CollectGarbage(ListStore(root_).value(), {.dry_run = true}).removed.size(), 2U);
  EXPECT_EQ(Left().size(), 4U);
  const GcResult result = CollectGarbage(ListStore(root_).value(), {});
  EXPECT_EQ(result.removed.size(), 2U);
  EXPECT_EQ(result.kept_files, 1);
  EXPECT_EQ(result.kept_bytes, static_cast<int64_t>(fs::file_size(keep)));
  EXPECT_EQ(Left(), (std::vector<fs::path>{keep, stranger}));
}

TEST_F(StoreFiles, TheLongestUnusedGoFirst) {
  const fs::path a = Save("a"), b = Save("b"), c = Save("c");
  Age(a, 300), Age(b, 200), Age(c, 100);
  const auto size = static_cast<int64_t>(fs::file_size(a));
  CollectGarbage(ListStore(root_).value(), {.max_bytes = 3 * size});
  EXPECT_EQ(Left().size(), 3U);
  EXPECT_TRUE(GoldenStore(root_).Load(Key("a")).value().has_value());  // now the youngest
  CollectGarbage(ListStore(root_).value(), {.max_bytes = 2 * size + 1});
  EXPECT_EQ(Left(), (std::vector<fs::path>{a, c}));
  CollectGarbage(ListStore(root_).value(), {.older_than_s = 50});
  EXPECT_EQ(Left(), std::vector<fs::path>{a});
}

// A writer in another process that is stopped is alive; once killed, it has abandoned its file.
TEST_F(StoreFiles, OnlyTheFilesOfDeadWritersAreAbandoned) {
  fs::create_directories(root_ / "ab");
  const fs::path target = root_ / "ab" / "abababababababab.safetensors";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::vector<char> bytes(1 << 12);
    const std::vector<FilePart> parts(1 << 18, {bytes.data(), bytes.size()});  // a gigabyte: time to be stopped
    (void)WriteFileAtomically(target, parts);
    ::_exit(0);
  }
  fs::path half;
  for (int i = 0; i < 20000 && half.empty(); ++i) {
    for (const auto& entry : fs::directory_iterator(root_ / "ab")) {
      if (entry.file_size() > 0) half = entry.path();  // it has its lock
    }
    ::usleep(100);
  }
  ::kill(child, SIGSTOP);
  EXPECT_TRUE(IsTemporaryName(half)) << half;
  RemoveAbandonedWrites(root_);
  EXPECT_TRUE(fs::exists(half));
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(fs::exists(half));
  EXPECT_TRUE(RemoveIfAbandoned(half, /*dry_run=*/true));
  EXPECT_TRUE(fs::exists(half));
  RemoveAbandonedWrites(root_);
  EXPECT_FALSE(fs::exists(half));
}

}  // namespace
}  // namespace assay
