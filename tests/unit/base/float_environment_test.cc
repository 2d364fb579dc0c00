// SPDX-License-Identifier: Apache-2.0
#include "harness/base/float_environment.h"

#include <gtest/gtest.h>

#include <cfenv>

#if defined(__SSE2__)
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

#if defined(__SSE2__)
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
