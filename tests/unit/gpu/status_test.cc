// SPDX-License-Identifier: Apache-2.0
// Error codes of the runtimes as the harness sees them: what loses the process must say so, and nothing else may.
#include <gtest/gtest.h>

#include "backends/gpu/runtime.h"

namespace gpu {
namespace {

TEST(StatusOf, StickyErrorsLoseTheDevice) {
  for (const int code : {214, 700, 702, 710, 714, 715, 716, 717, 718, 719}) {
    EXPECT_EQ(StatusOf(code), ASSAY_DEVICE_LOST) << code;
    EXPECT_NE(AdviceFor(code).find("next case"), std::string::npos) << code;
  }
}

TEST(StatusOf, MemoryDriverAndArchitectureHaveVerdictsOfTheirOwn) {
  EXPECT_EQ(StatusOf(0), ASSAY_OK);
  EXPECT_EQ(StatusOf(2), ASSAY_OUT_OF_MEMORY);
  EXPECT_EQ(StatusOf(35), ASSAY_UNAVAILABLE);
  EXPECT_EQ(StatusOf(100), ASSAY_UNAVAILABLE);
  EXPECT_EQ(StatusOf(209), ASSAY_UNAVAILABLE);
  EXPECT_NE(AdviceFor(209).find("ASSAY_CUDA_ARCHITECTURES"), std::string::npos);
  EXPECT_NE(AdviceFor(2).find("memory"), std::string::npos);
}

TEST(StatusOf, AWrongCallIsAnErrorOfTheCaseAlone) {
  for (const int code : {1, 9, 98, 400, 701, 999}) EXPECT_EQ(StatusOf(code), ASSAY_ERROR) << code;
}

}  // namespace
}  // namespace gpu
