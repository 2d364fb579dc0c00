// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/shared_time.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// How much passes of both clocks; on a busy machine the outer reading is later, never earlier.
struct Passed {
  double least, shared, most;
};
Passed Sleep(SharedTime& time) {
  const Clock::time_point outer = Clock::now();
  const double before = time.Seconds();
  const Clock::time_point inner = Clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double least = Since(inner);
  const double shared = time.Seconds() - before;
  return {least, shared, Since(outer)};
}

TEST(SharedTime, PassesAsManyTimesSlowerAsThereAreAtWork) {
  SharedTime time;
  std::optional<SharedTime::AtWork> first, second, third;
  const auto expect_share = [&](double share) {
    const Passed passed = Sleep(time);
    EXPECT_GE(passed.shared, passed.least * share * (1 - 1e-9));
    EXPECT_LE(passed.shared, passed.most * share * (1 + 1e-9));
  };
  expect_share(1);
  first.emplace(time);
  expect_share(1);
  second.emplace(time);
  expect_share(1.0 / 2);
  third.emplace(time);
  expect_share(1.0 / 3);
  first.reset();
  second.reset();
  expect_share(1);
}

}  // namespace
}  // namespace assay
