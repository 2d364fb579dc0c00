// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/call_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kMany = 40;

void End(CallLimits& limits, const char* call, const CallWork& work, double seconds) {
  for (size_t i = 0; i < kMany; ++i) limits.NoteEnd(call, work, seconds);
}

TEST(CallLimits, OneThatTheUserNamedIsConstant) {
  CallLimits limits(2, 10, /*is_constant=*/true);
  End(limits, "execute", {1e3}, 1e-6);
  EXPECT_EQ(limits.LimitFor("execute", {1e15}).seconds, 2);
  EXPECT_EQ(limits.LimitFor("prepare", {1e15}).seconds, 10);
  EXPECT_THAT(limits.LimitFor("execute", {1e3}).why, IsEmpty());
}

TEST(CallLimits, GrowWithTheWorkAsLongAsNothingIsKnown) {
  const CallLimits limits(60, 300, false);
  EXPECT_EQ(limits.LimitFor("execute", {}).seconds, 60);
  EXPECT_EQ(limits.LimitFor("execute", {1e12}).seconds, 1060);  // a product of 8,192 squared on one core
  EXPECT_EQ(limits.LimitFor("execute", {1e10, 40}).seconds, 460);
  EXPECT_EQ(limits.LimitFor("prepare", {}).seconds, 300);
}

TEST(CallLimits, ShrinkToFarMoreThanTheSlowestTook) {
  CallLimits limits(60, 300, false);
  for (size_t i = 0; i < 31; ++i) limits.NoteEnd("execute", {1e6}, 0.001);
  EXPECT_EQ(limits.LimitFor("execute", {1e6}).seconds, 61) << "31 calls are too few";
  limits.NoteEnd("execute", {1e6}, 0.6);
  EXPECT_EQ(limits.LimitFor("execute", {1e6}).seconds, 30);
  EXPECT_THAT(limits.LimitFor("execute", {1e6}).why, HasSubstr("50 times as long as the slowest of 32 such calls"));
  EXPECT_EQ(limits.LimitFor("prepare", {1e6}).seconds, 301) << "of another kind";
}

TEST(CallLimits, AreNeverShorterThanADriverMayNeedToCompile) {
  CallLimits limits(60, 300, false);
  End(limits, "execute", {1e3}, 1e-6);
  EXPECT_EQ(limits.LimitFor("execute", {1e3}).seconds, 15);
  CallLimits small(5, 25, false);  // as they were shorter before
  End(small, "execute", {1e3}, 1e-6);
  EXPECT_EQ(small.LimitFor("execute", {}).seconds, 5);
}

TEST(CallLimits, AreNotShortenedForWhatCompilesInItsCalls) {
  CallLimits limits(60, 300, false, /*compiles_in_calls=*/true);
  for (int i = 0; i < 40; ++i) End(limits, "execute", {}, 1e-3);
  EXPECT_EQ(limits.LimitFor("execute", {}).seconds, 60);
}

TEST(CallLimits, LargerWorkHasLongerAtTheSlowestRate) {
  CallLimits limits(60, 300, false);
  End(limits, "execute", {1e9}, 0.1);
  EXPECT_EQ(limits.LimitFor("execute", {1e9}).seconds, 15);
  EXPECT_EQ(limits.LimitFor("execute", {1e11}).seconds, 160) << "500 s at the slowest rate: what nothing known gives";
  EXPECT_EQ(limits.LimitFor("execute", {1e9, 9}).seconds, 45);
}

TEST(CallLimits, ABatchCountsByTheExecution) {
  CallLimits limits(60, 300, false);
  End(limits, "execute", {1e3, 100}, 40);
  EXPECT_EQ(limits.LimitFor("execute", {1e3}).seconds, 20);
}

TEST(CallLimits, AfterATimeoutTheNextTryHasTheWholeTime) {
  CallLimits limits(60, 300, false);
  End(limits, "execute", {}, 0.001);
  End(limits, "upload", {}, 0.001);
  ASSERT_EQ(limits.LimitFor("execute", {}).seconds, 15);
  limits.NoteTimeout("execute");
  EXPECT_EQ(limits.LimitFor("execute", {}).seconds, 60);
  EXPECT_EQ(limits.LimitFor("upload", {}).seconds, 15);
}

}  // namespace
}  // namespace assay
