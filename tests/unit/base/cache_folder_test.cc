// SPDX-License-Identifier: Apache-2.0
#include "harness/base/cache_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace assay {
namespace {

TEST(UsersCacheFolder, FollowsTheVariableWhereItIsAnAbsolutePath) {
  ::setenv("HOME", "/home/someone", 1);
  ::setenv("XDG_CACHE_HOME", "/var/caches", 1);
  EXPECT_EQ(CacheFolder("designs"), "/var/caches/assay/designs");
  for (const char* ignored : {"", "here", "../there"}) {
    ::setenv("XDG_CACHE_HOME", ignored, 1);
    EXPECT_EQ(CacheFolder("designs"), "/home/someone/.cache/assay/designs") << ignored;
  }
  ::unsetenv("HOME");
  EXPECT_TRUE(CacheFolder("designs").empty());
}

}  // namespace
}  // namespace assay
