// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/plugin_discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class DiscoveryTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    root_ = fs::path(testing::TempDir()) / ("assay_discovery_" + name);
    fs::remove_all(root_);
    fs::create_directories(root_ / "bin");
    fs::create_directories(root_ / "lib/assay/plugins");
    options_.executable_folder = root_ / "bin";
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path Touch(const fs::path& relative) const {
    std::ofstream(root_ / relative) << "x";
    return root_ / relative;
  }
  std::vector<fs::path> Paths() const {
    std::vector<fs::path> paths;
    for (const PluginCandidate& candidate : DiscoverPlugins(options_)) paths.push_back(candidate.path);
    return paths;
  }

  fs::path root_;
  DiscoveryOptions options_;
};

TEST_F(DiscoveryTest, InstalledOnesByNameAndNothingElse) {
  const fs::path b = Touch("lib/assay/plugins/b.so"), a = Touch("lib/assay/plugins/a.so");
  Touch("lib/assay/plugins/readme.txt");
  Touch("bin/c.so");
  EXPECT_THAT(Paths(), testing::ElementsAre(a, b));
  EXPECT_EQ(DiscoverPlugins(options_)[0].origin, "installed");
}

TEST_F(DiscoveryTest, TheCurrentDirectoryIsNotSearched) {
  const fs::path before = fs::current_path();
  Touch("x.so");
  fs::current_path(root_);
  options_.plugin_files = ":";  // two empty entries, which in PATH would be the current directory
  options_.add_plugin_files = "x.so";
  const std::vector<PluginCandidate> found = DiscoverPlugins(options_);
  fs::current_path(before);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].problem, HasSubstr("'x.so' in ASSAY_ADD_PLUGIN_FILES is relative"));
}

TEST_F(DiscoveryTest, ReplaceAndAdd) {
  const fs::path installed = Touch("lib/assay/plugins/a.so"), x = Touch("x.so"), y = Touch("y.so"), z = Touch("z.so");
  options_.add_plugin_files = z.string();
  EXPECT_THAT(Paths(), testing::ElementsAre(installed, z));
  options_.plugin_files = x.string() + ":" + y.string();
  EXPECT_THAT(Paths(), testing::ElementsAre(x, y, z));
  options_.plugin_files = "";
  EXPECT_THAT(Paths(), testing::ElementsAre(z));
}

TEST_F(DiscoveryTest, ArgumentsComeFirstAndMayRename) {
  const fs::path installed = Touch("lib/assay/plugins/a.so"), x = Touch("x.so");
  options_.plugin_args = {{kPluginOption, x.string()}, {kPluginOption, "mine=" + installed.string()}};
  const std::vector<PluginCandidate> found = DiscoverPlugins(options_);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].path, x);
  EXPECT_EQ(found[0].origin, "--plugin");
  EXPECT_EQ(found[1].name, "mine");
  EXPECT_EQ(found[1].path, installed);
  EXPECT_EQ(found[2].name, "");  // under its own name, too
}

TEST_F(DiscoveryTest, AnEqualsSignInAPathIsNoName) {
  fs::create_directories(root_ / "k=v");
  const fs::path x = Touch("k=v/x.so");
  options_.plugin_args = {{kPluginOption, x.string()}};
  EXPECT_THAT(Paths(), testing::ElementsAre(x));
}

TEST_F(DiscoveryTest, RelativeArgumentsBecomeAbsolute) {
  const fs::path before = fs::current_path();
  Touch("x.so");
  fs::current_path(root_);
  options_.plugin_args = {{kPluginOption, "x.so"}};
  const std::vector<PluginCandidate> found = DiscoverPlugins(options_);
  fs::current_path(before);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].path.is_absolute());
  EXPECT_EQ(found[0].problem, "");
}

TEST_F(DiscoveryTest, TheSameFileCountsOnce) {
  const fs::path a = Touch("lib/assay/plugins/a.so");
  options_.plugin_args = {{kPluginOption, a.string()},
                          {kPluginOption, (root_ / "bin/../lib/assay/plugins/a.so").string()}};
  EXPECT_EQ(Paths().size(), 1u);
}

TEST_F(DiscoveryTest, Problems) {
  options_.plugin_args = {{kPluginOption, (root_ / "absent.so").string()},
                          {kPluginOption, (root_ / "bin").string()},
                          {kPluginOption, "name="}};
  const std::vector<PluginCandidate> found = DiscoverPlugins(options_);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_THAT(found[0].problem, HasSubstr("there is no file"));
  EXPECT_THAT(found[1].problem, HasSubstr("is a folder"));
  EXPECT_THAT(found[2].problem, HasSubstr("names no file"));
  const Status status = CheckNamedPlugins(found);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUsage);
  EXPECT_THAT(status.error().message, HasSubstr("plugin from --plugin: there is no file"));
}

TEST_F(DiscoveryTest, ProblemsSayTheOptionThatWasWritten) {
  options_.plugin_args = {{kKernelsOption, "name="}, {kKernelsOption, (root_ / "bin").string()}};
  const std::vector<PluginCandidate> found = DiscoverPlugins(options_);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].problem, "--kernels names no file; write --kernels PATH or --kernels NAME=PATH");
  EXPECT_THAT(found[1].problem, HasSubstr("is a folder; name the .py file itself"));
  EXPECT_THAT(CheckNamedPlugins(found).error().message, HasSubstr("kernels from --kernels: "));
}

TEST_F(DiscoveryTest, AFrameworkIsNamedByItsName) {
  options_.plugin_args = {{kFrameworkOption, "torch", Touch("torch_kernels.py")},
                          {kFrameworkOption, "jax", root_ / "absent.py"}};
  const std::vector<PluginCandidate> found = DiscoverPlugins(options_);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "torch");
  EXPECT_EQ(found[0].path, root_ / "torch_kernels.py");
  EXPECT_EQ(found[0].problem, "");
  EXPECT_THAT(CheckNamedPlugins(found).error().message, HasSubstr("--framework jax: there is no file"));
}

TEST_F(DiscoveryTest, ABrokenInstalledPluginIsNotTheUsersError) {
  fs::create_symlink(root_ / "absent", root_ / "lib/assay/plugins/a.so");
  const std::vector<PluginCandidate> found = DiscoverPlugins(options_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].problem, "");
  EXPECT_TRUE(CheckNamedPlugins(found));
}

TEST(DiscoveryFromEnvironmentTest, ReadsTheVariables) {
  ::setenv("ASSAY_ADD_PLUGIN_FILES", "/x.so", 1);
  ::unsetenv("ASSAY_PLUGIN_FILES");
  const DiscoveryOptions options = DiscoveryFromEnvironment({{kPluginOption, "a"}});
  ::unsetenv("ASSAY_ADD_PLUGIN_FILES");
  EXPECT_EQ(options.add_plugin_files, "/x.so");
  EXPECT_EQ(options.plugin_files, std::nullopt);
  EXPECT_TRUE(fs::is_directory(options.executable_folder));
}

}  // namespace
}  // namespace assay
