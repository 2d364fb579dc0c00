// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/terminal/stage_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace assay::cli {
namespace {

using namespace std::chrono_literals;

TEST(StageProgress, ShowsTheStageAgainAndAgainUntilItEnds) {
  std::vector<std::string> shown;
  std::atomic<size_t> count = 0;
  StageProgress progress([&](const std::string& text) { shown.push_back(text), ++count; }, 1ms, false);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(count, 0u) << "there is no stage yet";
  progress.Begin("reading");
  while (count < 3) std::this_thread::sleep_for(1ms);
  progress.Begin("judging");
  for (const size_t before = count; count < before + 3;) std::this_thread::sleep_for(1ms);
  progress.End();
  EXPECT_EQ(shown.front(), "reading, 0 s");
  EXPECT_THAT(shown.back(), testing::StartsWith("judging, "));
  const size_t ended = shown.size();
  progress.Begin("too late");
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(shown.size(), ended);
}

TEST(StageProgress, ShowsAStageAtOnceOrAfterTheInterval) {
  for (const bool at_once : {true, false}) {
    std::vector<std::string> shown;
    StageProgress progress([&](const std::string& text) { shown.push_back(text); }, 1h, at_once);
    progress.Begin("reading");
    progress.End();
    EXPECT_EQ(shown.size(), at_once ? 1u : 0u);
  }
}

}  // namespace
}  // namespace assay::cli
