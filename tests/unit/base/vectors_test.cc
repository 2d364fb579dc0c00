// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/vectors.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>

#include "hwy/highway.h"

namespace assay {
namespace {

struct VectorLimit : ::testing::Test {
  void TearDown() override { hwy::DisableTargets(0); }
};

TEST_F(VectorLimit, LeavesOutWhatIsBetter) {
  std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  for (const int64_t target : targets) {
    std::string name = hwy::TargetName(target);
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    ASSERT_TRUE(LimitVectors(name).has_value()) << name;
    EXPECT_EQ(VectorsInUse(), name);
    EXPECT_EQ(hwy::SupportedAndGeneratedTargets().front(), target);
  }
}

TEST(Vectors, StartWithoutMeasuringTheClock) {
  void* const measures = ::dlsym(RTLD_DEFAULT, "_ZN3hwy8platform15TimerResolutionEv");
  Dl_info found{};
  ASSERT_NE(::dladdr(measures, &found), 0);
  EXPECT_EQ(std::string(found.dli_fname).find("libhwy"), std::string::npos) << found.dli_fname;
}

TEST_F(VectorLimit, OfAnUnknownNameIsRefusedWithTheKnownOnes) {
  const std::string before = VectorsInUse();
  const Status status = LimitVectors("mmx");
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message,
              ::testing::AllOf(::testing::HasSubstr("'mmx'"), ::testing::HasSubstr("known here: ")));
  EXPECT_THAT(status.error().message, ::testing::HasSubstr(before));
  EXPECT_EQ(VectorsInUse(), before);
}

}  // namespace
}  // namespace assay
