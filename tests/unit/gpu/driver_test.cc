// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cuda_backend {
namespace {

using testing::HasSubstr;

constexpr int kToolkit = 13000;

TEST(DriverWhyNot, NamesWhatIsMissing) {
  EXPECT_THAT(DriverWhyNot({.load_error = "libcuda.so.1: cannot open"}, kToolkit), HasSubstr("no NVIDIA driver"));
  EXPECT_THAT(DriverWhyNot({.load_error = "libcuda.so.1: cannot open"}, kToolkit), HasSubstr("cannot open"));
  const std::string old = DriverWhyNot({.found = true, .version = 12080, .devices = 1}, kToolkit);
  EXPECT_THAT(old, HasSubstr("up to 12.8"));
  EXPECT_THAT(old, HasSubstr("built with 13.0"));
  EXPECT_THAT(DriverWhyNot({.found = true, .version = 13000, .init_code = 100}, kToolkit),
              HasSubstr("no NVIDIA device"));
  EXPECT_THAT(DriverWhyNot({.found = true, .version = 13000}, kToolkit), HasSubstr("CUDA_VISIBLE_DEVICES"));
  EXPECT_THAT(DriverWhyNot({.found = true, .version = 13000, .init_code = 803}, kToolkit),
              HasSubstr("different versions"));
}

TEST(DriverWhyNot, AnyMinorVersionOfTheSameMajorRuns) {
  EXPECT_EQ(DriverWhyNot({.found = true, .version = 13000, .devices = 1}, 13020), "");
  EXPECT_EQ(DriverWhyNot({.found = true, .version = 14000, .devices = 2}, kToolkit), "");
}

}  // namespace
}  // namespace cuda_backend
