// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/cache_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace assay {
namespace {

// Restores a variable at the end.
struct Kept {
  explicit Kept(const char* variable) : name(variable) {
    if (const char* value = std::getenv(variable)) former = value;
  }
  ~Kept() { former ? ::setenv(name, former->c_str(), 1) : ::unsetenv(name); }
  const char* name;
  std::optional<std::string> former;
};

TEST(UsersCacheFolder, FollowsTheVariableWhereItIsAnAbsolutePath) {
  const Kept home("HOME"), cache("XDG_CACHE_HOME");
  ::setenv("HOME", "/home/someone", 1);
  ::setenv("XDG_CACHE_HOME", "/var/caches", 1);
  EXPECT_EQ(CacheFolder("golden"), "/var/caches/assay/golden");
  for (const char* ignored : {"", "here", "../there"}) {
    ::setenv("XDG_CACHE_HOME", ignored, 1);
    EXPECT_EQ(CacheFolder("golden"), "/home/someone/.cache/assay/golden") << ignored;
  }
  ::unsetenv("HOME");
  EXPECT_TRUE(CacheFolder("golden").empty());
}

}  // namespace
}  // namespace assay
