// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using ::testing::HasSubstr;

TEST(DeviceHealth, AnOperatorIsSetAsideAfterSoManyInARow) {
  DeviceHealth health(3);
  for (int i = 0; i < 2; ++i) health.Note("fft", "crash: SIGSEGV");
  health.Note("fft", "");
  for (int i = 0; i < 2; ++i) health.Note("fft", "crash: SIGSEGV");
  EXPECT_EQ(health.ExplainSetAside("fft"), "");
  health.Note("fft", "timeout: 60 s");
  EXPECT_THAT(health.ExplainSetAside("fft"), HasSubstr("after 3 results in a row"));
  EXPECT_THAT(health.ExplainSetAside("fft"), HasSubstr("the last: timeout: 60 s"));
  EXPECT_EQ(health.ExplainSetAside("matmul"), "");
}

TEST(DeviceHealth, OneOperatorAloneTakesNoOtherWithIt) {
  DeviceHealth health(3);
  for (int i = 0; i < 50; ++i) health.Note("fft", "crash");
  EXPECT_EQ(health.ExplainSetAside("matmul"), "");
}

TEST(DeviceHealth, ADeviceOnWhichNothingWorksIsSetAsideAsAWhole) {
  DeviceHealth health(3);
  for (int i = 0; i < 3; ++i) health.Note("fft", "timeout");
  for (int i = 0; i < 2; ++i) health.Note("matmul", "timeout");
  EXPECT_EQ(health.ExplainSetAside("softmax"), "");
  health.Note("matmul", "timeout");
  EXPECT_THAT(health.ExplainSetAside("softmax"), HasSubstr("the device was set aside after 6 results"));
}

TEST(DeviceHealth, NeverMeansNever) {
  DeviceHealth health(0);
  for (int i = 0; i < 100; ++i) health.Note(i % 2 ? "fft" : "matmul", "crash");
  EXPECT_EQ(health.ExplainSetAside("fft"), "");
}

}  // namespace
}  // namespace assay
