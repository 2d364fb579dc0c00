// SPDX-License-Identifier: Apache-2.0
// The sandbox that the host prepares for a worker: variables, files, limits, folders. worker_seal_test.cc and
// sandbox_test.py show what it stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/exec/sandbox/allow_list.h"
#include "harness/exec/sandbox/environment.h"
#include "harness/exec/sandbox/sandbox.h"
#include "harness/exec/sandbox/worker_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(Environment, PassesWhatDriversNeedAndNothingOfTheUser) {
  for (const char* name : {"PATH", "LC_ALL", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES",
                           "VK_DRIVER_FILES", "POCL_DEVICES", "ASSAY_VULKAN_ALL", "ASAN_OPTIONS"}) {
    EXPECT_TRUE(IsPassed(name)) << name;
  }
  for (const char* name : {"HOME", "USER", "SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "NVIDIA_API_KEY",
                           "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "ASSAY_GOLDEN_STORE", "ASSAY_PLUGIN_FILES",
                           "DISPLAY", "PATHS", ""}) {
    EXPECT_FALSE(IsPassed(name)) << name;
  }
}

TEST(Environment, IsTheProcessesOwnAndWhatIsAskedFor) {
  ::setenv("ASSAY_TEST_SEEN", "a=b", 1);
  ::setenv("UNSEEN_BY_WORKERS", "1", 1);
  EXPECT_THAT(ListPassedVariables({}), Contains("ASSAY_TEST_SEEN=a=b"));
  EXPECT_THAT(ListPassedVariables({}), Not(Contains("UNSEEN_BY_WORKERS=1")));
  const std::string asked[] = {"UNSEEN_BY_WORKERS"};
  EXPECT_THAT(ListPassedVariables(asked), Contains("UNSEEN_BY_WORKERS=1"));
  std::vector<std::string> variables = {"A=1", "B=2"};
  DefaultVariable(variables, "A", "3");
  SetVariable(variables, "B", "4");
  SetVariable(variables, "C", "5");
  EXPECT_THAT(variables, testing::ElementsAre("A=1", "B=4", "C=5"));
}

class GrantsTest : public testing::Test {
 protected:
  GrantsTest() : folder_(*WorkerFolder::Create()), root_(folder_.path()) {
    for (const char* name : {"a/deep/store/x", "a/deep/other", "a/file.so", "b", "home/plugin"}) Make(name);
    ::setenv("HOME", (root_ / "home").c_str(), 1);
  }
  void Make(const fs::path& file) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << "x";
  }
  // Grants below the folder, by paths relative to it.
  std::vector<std::string> Granted(const AllowList& grants) const {
    std::vector<std::string> names;
    for (const FileGrant& grant : grants.all()) {
      constexpr const char* kUses[] = {" names", "", " w"};
      names.push_back(grant.path.substr(root_.string().size() + 1) + kUses[static_cast<int>(grant.use)]);
    }
    std::ranges::sort(names);
    return names;
  }

  WorkerFolder folder_;
  fs::path root_;
};

TEST_F(GrantsTest, LeaveOutWhatIsHiddenWhereverItLies) {
  const auto granted = [&](const char* hidden, const char* path) {
    AllowList grants({(root_ / hidden).string()});
    grants.ReadAndWrite(root_ / path);
    return Granted(grants);
  };
  EXPECT_THAT(granted("b", "a"), testing::ElementsAre("a w"));
  EXPECT_THAT(granted("a/deep/store", "a"), testing::ElementsAre("a/deep/other w", "a/file.so w"));
  EXPECT_THAT(granted("a/deep/store", "a/deep/store"), testing::IsEmpty());
  EXPECT_THAT(granted("a/deep/store", "a/deep/store/x"), testing::IsEmpty());
  EXPECT_THAT(granted("a/absent/yet", "a"), testing::ElementsAre("a/deep w", "a/file.so w"));
  EXPECT_THAT(granted("a/dee", "a"), testing::ElementsAre("a/deep w", "a/file.so w"));  // no part of a name
  EXPECT_THAT(granted("a/deep/", "a"), testing::ElementsAre("a/file.so w"));
}

TEST_F(GrantsTest, LeaveOutWhatIsNamedFromTheCurrentFolderAndIsNotThereYet) {
  const fs::path current = fs::current_path();
  fs::current_path(root_ / "a");
  AllowList grants({"yet", "new/out"});
  fs::current_path(current);
  grants.Read(root_ / "a");
  grants.Read(root_ / "a/yet/file");
  EXPECT_THAT(Granted(grants), testing::ElementsAre("a/deep", "a/file.so"));
}

TEST_F(GrantsTest, OfAFolderToSearchAreNamesTooWhereSomethingIsHidden) {
  AllowList grants({(root_ / "a/deep/store").string()});
  for (const char* folder : {"a", "home", "a/deep/store"}) grants.Search(root_ / folder);
  EXPECT_THAT(Granted(grants), testing::ElementsAre("a names", "a/deep/other", "a/file.so", "home"));
}

// A hidden path that cannot be looked up (its folder may not be searched) hides itself and nothing else.
TEST_F(GrantsTest, OfOtherFilesStayWhereAHiddenOneCannotBeFound) {
  AllowList grants({(root_ / std::string(5000, 'x') / "store").string(), ""});
  grants.ReadAndWrite(root_ / "b");
  EXPECT_THAT(Granted(grants), testing::ElementsAre("b w"));
}

TEST_F(GrantsTest, AreNotFooledByLinks) {
  fs::create_directory_symlink(root_ / "a/deep/store", root_ / "link");
  AllowList grants({(root_ / "link").string()});
  grants.Read(root_ / "a");
  EXPECT_THAT(Granted(grants), testing::ElementsAre("a/deep/other", "a/file.so"));
  fs::create_directory_symlink(root_ / "a/deep/store", root_ / "home/link");
  AllowList through({(root_ / "a/deep/store").string(), (root_ / "home/x").string()});
  through.Read(root_ / "home");
  EXPECT_THAT(Granted(through), testing::ElementsAre("home/plugin"));
}

TEST_F(GrantsTest, OfKernelsAreTheirFolderButNoHome) {
  Make("a/kernels.py"), Make("home/kernels.py"), Make("home/libbeside.so.1");
  AllowList grants({});
  grants.GrantPlugin(root_ / "a/kernels.py");
  EXPECT_THAT(Granted(grants), Contains("a"));
  AllowList home({});
  home.GrantPlugin(root_ / "home/kernels.py");
  EXPECT_THAT(Granted(home), testing::ElementsAre("home/kernels.py", "home/libbeside.so.1"));
}

// Earlier runs hold failures together with their golden values.
TEST_F(GrantsTest, OfKernelsLeaveOutEarlierRuns) {
  Make("v/mine.py"), Make("v/kernels/k.bin"), Make("v/out/first/results.jsonl"), Make("v/out/notes.txt");
  Make("v/night.assay.tar.zst"), Make("v/out/second.tar.zst");
  AllowList grants({});
  grants.GrantPlugin(root_ / "v/mine.py");
  const auto granted = Granted(grants);
  EXPECT_THAT(granted, Contains("v/kernels"));
  EXPECT_THAT(granted, Contains("v/out/notes.txt"));
  EXPECT_THAT(granted, Contains("v names"));
  for (const char* path : {"v", "v/out", "v/out/first", "v/night.assay.tar.zst", "v/out/second.tar.zst"}) {
    EXPECT_THAT(granted, testing::Not(Contains(path)));
  }
  EXPECT_EQ(grants.HiddenText(), "a folder of earlier runs beside it (v/out/first)");
  Make("v/out/second/results.jsonl");
  AllowList two({});
  two.GrantPlugin(root_ / "v/mine.py");
  EXPECT_THAT(two.HiddenText(), testing::StartsWith("2 folders of earlier runs beside it (such as "));
  Make("k/mine.py");
  AllowList none({});
  none.GrantPlugin(root_ / "k/mine.py");
  EXPECT_EQ(none.HiddenText(), "");
}

// A folder with too many entries is hidden as a whole; its neighbours stay.
TEST_F(GrantsTest, OfKernelsSayWhichFolderIsTooLarge) {
  Make("v/mine.py"), Make("v/helpers/rows.py");
  const auto fill = [&](const std::string& folder) {
    fs::create_directories(root_ / folder);
    for (int i = 0; i <= kMostEntries; ++i) fs::create_symlink("x", root_ / folder / std::to_string(i));
  };
  fill("v/many/deep");
  AllowList grants({});
  grants.GrantPlugin(root_ / "v/mine.py");
  EXPECT_THAT(Granted(grants), testing::ElementsAre("v names", "v/helpers", "v/mine.py", "v/mine.py"));
  EXPECT_EQ(grants.HiddenText(), "all of " + (root_ / "v/many").string() +
                                     ", which has more than 20000 entries or cannot be read; --grant shows it");
  fill("v");
  AllowList whole({});
  whole.GrantPlugin(root_ / "v/mine.py");
  EXPECT_THAT(Granted(whole), testing::ElementsAre("v/mine.py"));
  EXPECT_THAT(whole.HiddenText(), testing::StartsWith("all of " + (root_ / "v").string() + ", which has"));
}

// A project with its environment and its runs: neither is imported from beside a file, and neither is looked
// through.
TEST_F(GrantsTest, OfKernelsDoNotCountWhatIsNoPartOfThem) {
  Make("v/mine.py"), Make("v/helpers/rows.py"), Make("v/out/first/results.jsonl");
  Make("v/venv/pyvenv.cfg"), Make("v/web/page.js");
  const fs::path many = root_ / "many";
  fs::create_directories(many);
  for (int i = 0; i <= kMostEntries; ++i) fs::create_symlink("x", many / std::to_string(i));
  const char* const places[] = {"v/venv/lib", "v/.git", "v/web/node_modules", "v/out/first/failures"};
  for (const char* within : places) fs::create_directories(root_ / within);
  for (const char* within : places) {
    fs::rename(many, root_ / within);  // one after the other, as making them takes long
    AllowList grants({});
    grants.GrantPlugin(root_ / "v/mine.py");
    const auto granted = Granted(grants);
    EXPECT_THAT(granted, testing::IsSupersetOf({"v names", "v/helpers", "v/web/page.js"})) << within;
    for (const char* folder : {"v", "v/venv", "v/.git", "v/web", "v/web/node_modules", "v/out", "v/out/first"})
      EXPECT_THAT(granted, testing::Not(Contains(folder))) << within;
    EXPECT_EQ(grants.HiddenText(), "a folder of earlier runs beside it (v/out/first)") << within;
    fs::rename(root_ / within, many);
    fs::create_directories(root_ / within);
  }
  fs::rename(many, root_ / "v/venv/lib");
  AllowList grants({});
  grants.Search(root_ / "v/venv");  // as of an interpreter's path
  EXPECT_THAT(Granted(grants), Contains("v/venv"));
}

// Code that reads a variable has its name as a text of its own; a session's are named for other reasons.
TEST(Environment, NamesWhatAPluginAsksForInVain) {
  ::setenv("VENDOR_SWITCH", "1", 1), ::setenv("USER", "me", 1), ::setenv("CUDA_HOME", "/x", 1);
  const auto in = [](const std::string& file, bool is_script) {
    return FindUnpassedVariables(file, is_script, ListPassedVariables({}));
  };
  const std::string nul(1, '\0');
  EXPECT_THAT(in("x" + nul + "VENDOR_SWITCH" + nul + "USER" + nul + "CUDA_HOME" + nul, false),
              testing::ElementsAre("VENDOR_SWITCH"));
  EXPECT_THAT(in("MY_VENDOR_SWITCH" + nul + "VENDOR_SWITCHES" + nul, false), testing::IsEmpty());
  EXPECT_THAT(in("os.environ['VENDOR_SWITCH']", true), testing::ElementsAre("VENDOR_SWITCH"));
  EXPECT_THAT(in("# VENDOR_SWITCH, \"VENDOR_SWITCH is none\"", true), testing::IsEmpty());
  const std::string passed[] = {"VENDOR_SWITCH"};
  EXPECT_THAT(FindUnpassedVariables("\"VENDOR_SWITCH\"", true, ListPassedVariables(passed)), testing::IsEmpty());
  ::unsetenv("VENDOR_SWITCH");
}

TEST_F(GrantsTest, FollowTheVariablesOfDrivers) {
  AllowList grants({});
  const std::string a = (root_ / "a").string(), b = (root_ / "b").string(), home = (root_ / "home").string();
  grants.GrantNamedBy({"LD_LIBRARY_PATH=" + a + "::relative:" + home, "POCL_CACHE_DIR=" + b, "PATH=" + b, "ODD"});
  EXPECT_THAT(Granted(grants), testing::ElementsAre("a", "a/file.so", "b w"));
  AllowList absent({});
  absent.GrantNamedBy({"POCL_CACHE_DIR=" + (root_ / "new/cache").string()});
  EXPECT_THAT(Granted(absent), testing::ElementsAre("new/cache w"));
  EXPECT_TRUE(fs::is_directory(root_ / "new/cache"));
  fs::create_directories(root_ / "linked");
  fs::create_symlink(root_ / "a/file.so", root_ / "linked/liblinked.so");
  AllowList linked({});
  linked.GrantNamedBy({"LD_LIBRARY_PATH=" + (root_ / "linked").string()});
  EXPECT_THAT(Granted(linked), testing::ElementsAre("a/file.so", "linked"));
}

TEST(Limits, AreReadAndNamed) {
  WorkerLimits limits;
  for (const char* text : {"memory=8G", "file=500M", "processes=none", "descriptors=64"})
    EXPECT_TRUE(SetLimit(text, limits));
  EXPECT_EQ(limits, (WorkerLimits{uint64_t{8} << 30, uint64_t{500} << 20, 0, 64}));
  for (const char* text : {"memory", "memory=", "memory=0", "memory=-1", "memory=1X", "memory=1GG",
                           "memory=99999999999T", "speed=1", "=1", ""}) {
    EXPECT_FALSE(SetLimit(text, limits)) << text;
  }
  EXPECT_THAT(LimitHint(limits, SIGXFSZ), HasSubstr("--worker-limit file=500M"));
  EXPECT_THAT(LimitHint(limits, SIGABRT), HasSubstr("--worker-limit memory=8G"));
  EXPECT_EQ(LimitHint(WorkerLimits(), SIGABRT), "");
}

TEST(Sandbox, TravelsToTheWorker) {
  Sandbox sandbox;
  sandbox.files = {{"/a b", FileUse::kRead}, {"/c", FileUse::kWrite}, {"/d", FileUse::kList}};
  sandbox.limits.memory_bytes = 5;
  const Sandbox got = DecodeSandbox(EncodeSandbox(sandbox));
  EXPECT_TRUE(got.is_on);
  EXPECT_EQ(got.limits, sandbox.limits);
  ASSERT_EQ(got.files.size(), 3u);
  EXPECT_EQ(got.files[0].path, "/a b");
  EXPECT_EQ(got.files[0].use, FileUse::kRead);
  EXPECT_EQ(got.files[1].use, FileUse::kWrite);
  EXPECT_EQ(got.files[2].use, FileUse::kList);
}

TEST(WorkerFolder, EndsWithAllThatIsInIt) {
  fs::path path;
  {
    const auto folder = WorkerFolder::Create();
    ASSERT_TRUE(folder);
    path = folder->path();
    fs::create_directories(path / "x/y");
    std::ofstream(path / "x/y/z") << "z";
    fs::create_directory_symlink("/", path / "x/root");
    ::chmod((path / "x").c_str(), 0);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(CacheFolder, IsThePluginsOwn) {
  const auto caches = WorkerFolder::Create();
  ASSERT_TRUE(caches);
  ::setenv("XDG_CACHE_HOME", caches->path().c_str(), 1);
  const fs::path cuda = PluginCacheFolder("/x/libassay_cuda.so");
  EXPECT_EQ(cuda.parent_path(), caches->path() / "assay/workers");
  EXPECT_THAT(cuda.filename(), testing::ResultOf([](const fs::path& p) { return p.string(); },
                                                 testing::MatchesRegex("cuda-[0-9a-f]{8}")));
  EXPECT_EQ(PluginCacheFolder("/x/libassay_cuda.so"), cuda);
  EXPECT_NE(PluginCacheFolder("/other/libassay_cuda.so"), cuda);
  EXPECT_TRUE(fs::is_directory(PluginCacheFolder("/y/vendor.so")));
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace assay
