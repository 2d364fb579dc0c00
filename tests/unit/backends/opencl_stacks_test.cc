// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pthread.h>

#include "backends/opencl/thread_stacks.h"

namespace opencl {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

struct DefaultStack : ::testing::Test {
  void SetUp() override { ASSERT_EQ(pthread_getattr_default_np(&before_), 0); }
  void TearDown() override { ASSERT_EQ(pthread_setattr_default_np(&before_), 0); }

  static void Set(size_t bytes) {
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
    ASSERT_EQ(pthread_setattr_default_np(&attributes), 0);
  }
  // The stack size that a new thread really gets.
  static size_t Get() {
    size_t bytes = 0;
    pthread_t thread;
    const auto ask = [](void* to) -> void* {
      pthread_attr_t own;
      if (pthread_getattr_np(pthread_self(), &own) == 0) pthread_attr_getstacksize(&own, static_cast<size_t*>(to));
      return nullptr;
    };
    if (pthread_create(&thread, nullptr, ask, &bytes) == 0) pthread_join(thread, nullptr);
    return bytes;
  }

 private:
  pthread_attr_t before_;
};

TEST_F(DefaultStack, IsRaised) {
  Set(8 * kMiB);
  RaiseThreadStacks();
  EXPECT_GE(Get(), 64 * kMiB);
}

TEST_F(DefaultStack, IsNeverLowered) {
  Set(96 * kMiB);
  RaiseThreadStacks();
  EXPECT_GE(Get(), 96 * kMiB);
}

}  // namespace
}  // namespace opencl
