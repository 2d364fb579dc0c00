// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/float_environment.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace assay {
namespace {

TEST(FloatEnvironment, IsAsGoldenValuesNeedIt) {
  EXPECT_TRUE(CheckFloatEnvironment().has_value());
}

TEST(FloatEnvironment, OtherRoundingIsNamed) {
  ASSERT_EQ(std::fesetround(FE_DOWNWARD), 0);
  const Status status = CheckFloatEnvironment();
  std::fesetround(FE_TONEAREST);
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().message.find("rounding mode"), std::string::npos);
}

#if defined(__x86_64__)
// Which fegetround() and fegetexcept() do not see: they ask the x87.
TEST(FloatEnvironment, WhatOnlySseHasIsNamed) {
  const unsigned before = _mm_getcsr();
  const std::pair<unsigned, const char*> changes[] = {{0x2000U, "rounding mode"}, {0x0200U, "SIGFPE"}};
  for (const auto& [bits, text] : changes) {
    _mm_setcsr(before ^ bits);
    const Status status = CheckFloatEnvironment();
    _mm_setcsr(before);
    ASSERT_FALSE(status.has_value());
    EXPECT_NE(status.error().message.find(text), std::string::npos) << status.error().message;
  }
}

TEST(FloatEnvironment, TrapsAreNamedUntilRestored) {
  ASSERT_EQ(::feenableexcept(FE_INVALID), 0);
  const Status status = CheckFloatEnvironment();
  RestoreFloatEnvironment();
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().message.find("SIGFPE"), std::string::npos);
  EXPECT_TRUE(CheckFloatEnvironment().has_value());
}

TEST(FloatEnvironment, FlushingIsNamed) {
  const unsigned before = _mm_getcsr();
  for (const unsigned flag : {0x8000U, 0x0040U}) {
    _mm_setcsr(before | flag);
    const Status status = CheckFloatEnvironment();
    _mm_setcsr(before);
    ASSERT_FALSE(status.has_value());
    EXPECT_NE(status.error().message.find("flushed"), std::string::npos);
  }
}

TEST(FloatEnvironmentDeathTest, EnginesRefuse) {
  EXPECT_DEATH(
      {
        _mm_setcsr(_mm_getcsr() | 0x8000U);
        RequireFloatEnvironment("golden matrix product");
      },
      "golden matrix product: subnormal numbers are flushed");
}
#endif

}  // namespace
}  // namespace assay
