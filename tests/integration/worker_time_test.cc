// SPDX-License-Identifier: Apache-2.0
// Timed runs: rotation of the sets, where the durations come from, and outputs that can be judged again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <limits>

#include "tests/integration/worker_fixture.h"

namespace assay {
namespace {

using testing::Each;
using testing::ElementsAreArray;
using testing::HasSubstr;

class TimeTest : public WorkerTest {
 protected:
  TimeTest() { request_.max_seconds = 0.2; }
  Call<Timing> Time(const std::string& implementation) {
    const Call<Prepared> prepared = session_.Prepare(0, problem_, implementation);
    if (!prepared) return tl::unexpected(prepared.error());
    const InputSet sets[] = {inputs_.set(), second_.set(), third_.set()};
    return session_.Time(prepared->plan, sets, request_);
  }
  SmallInputs second_ = MakeSmallInputs(2), third_ = MakeSmallInputs(-4);
  TimingRequest request_;
};

TEST_F(TimeTest, JudgedOutputsBelongToTheirSets) {
  for (int round = 0; round < 5; ++round) {  // the judged batch is drawn at random
    const Call<Timing> timing = Time("ok");
    ASSERT_TRUE(timing) << timing.error().message;
    ASSERT_EQ(timing->judged.size(), 3u);
    EXPECT_THAT(timing->judged[0].output.As<float>(), ElementsAreArray(inputs_.y));
    EXPECT_THAT(timing->judged[1].output.As<float>(), ElementsAreArray(second_.y));
    EXPECT_THAT(timing->judged[2].output.As<float>(), ElementsAreArray(third_.y));
    EXPECT_GE(static_cast<int64_t>(timing->seconds.size()), request_.min_repetitions);
    EXPECT_LE(static_cast<int64_t>(timing->seconds.size()), request_.max_repetitions);
  }
}

TEST_F(TimeTest, ABatchBeginsOnTheProcessorThatIsAskedForAndSaysWhereItBegan) {
  const Call<Prepared> prepared = session_.Prepare(0, problem_, "ok");
  ASSERT_TRUE(prepared) << prepared.error().message;
  request_.max_repetitions = std::numeric_limits<int64_t>::max();
  request_.batch_seconds = 1e-5;
  request_.max_seconds = 1e3;
  auto run = session_.BeginTiming(prepared->plan, {inputs_.set(), second_.set()}, request_);
  ASSERT_TRUE(run) << run.error().message;
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  if (CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "one processor to run on";
  for (int64_t wanted = 0; wanted < CPU_SETSIZE; ++wanted) {
    if (!CPU_ISSET(static_cast<size_t>(wanted), &allowed)) continue;
    int there = 0;  // the system may move it on at once
    for (int i = 0; i < 20; ++i) {
      int64_t processor = wanted;
      ASSERT_EQ((*run)->Step(processor).value_or(false), true);
      there += processor == wanted;
    }
    EXPECT_GT(there, 15) << "processor " << wanted;
  }
  int64_t anywhere = -1;
  ASSERT_EQ((*run)->Step(anywhere).value_or(false), true);
  EXPECT_GE(anywhere, 0);
}

TEST_F(TimeTest, AFreshWorkerKnowsNoPlanOfTheLastOne) {
  const Call<Prepared> prepared = session_.Prepare(0, problem_, "ok");
  ASSERT_TRUE(prepared) << prepared.error().message;
  session_.Restart();
  const InputSet sets[] = {inputs_.set(), second_.set()};
  const Call<Timing> lost = session_.Time(prepared->plan, sets, request_);
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message, HasSubstr("its worker has ended; prepare it again"));
  EXPECT_TRUE(Time("ok"));
}

TEST_F(TimeTest, DurationsAndFlagsComeFromThePlugin) {
  request_.cold_cache = true;
  request_.max_repetitions = 40;
  const Call<Timing> timing = Time("ok");
  ASSERT_TRUE(timing) << timing.error().message;
  EXPECT_TRUE(timing->clock_is_device);
  EXPECT_TRUE(timing->cache_was_flushed);
  EXPECT_EQ(timing->stop, StopReason::kRepetitions);
  EXPECT_EQ(timing->seconds.size(), 40u);
  // The plugin counts milliseconds within a call; with cold caches every repetition counts.
  EXPECT_DOUBLE_EQ(timing->seconds[0], 1e-3);
  request_.cold_cache = false;
  // Three repetitions after each transfer are not recorded.
  EXPECT_DOUBLE_EQ(Time("ok").value().seconds[0], 4e-3);
}

TEST_F(TimeTest, WhatIsKnownToBeLongIsWarmedUpOnceAndWritesEverySet) {
  request_.expected_seconds = 1;
  request_.warmup = 1;
  request_.max_repetitions = 1;
  const Call<Timing> timing = Time("ok");
  ASSERT_TRUE(timing) << timing.error().message;
  // The plugin counts milliseconds within a call: one is not recorded, and a third set needs a second that is.
  EXPECT_THAT(timing->seconds, testing::ElementsAre(2e-3, 3e-3));
  ASSERT_EQ(timing->judged.size(), 3u);
  EXPECT_THAT(timing->judged[2].output.As<float>(), ElementsAreArray(third_.y));
  request_.expected_seconds = 0;
  EXPECT_DOUBLE_EQ(Time("ok").value().seconds[0], 4e-3);
}

TEST_F(TimeTest, HostClockWhereThePluginHasNone) {
  const Misbehave misbehave("no_timer");
  request_.cold_cache = true;
  const Call<Timing> timing = Time("ok");
  ASSERT_TRUE(timing) << timing.error().message;
  EXPECT_FALSE(timing->clock_is_device);
  EXPECT_FALSE(timing->cache_was_flushed);
  EXPECT_EQ(timing->stop, StopReason::kNotFlushed);
  EXPECT_LE(timing->seconds.size(), 3u);  // not worth more
  EXPECT_THAT(timing->seconds, Each(testing::AllOf(testing::Gt(0.0), testing::Lt(0.2))));
}

TEST_F(TimeTest, StoppingRule) {
  request_.max_seconds = 20;
  request_.enough = [](std::span<const double> seconds) { return seconds.size() >= 50; };
  const Call<Timing> timing = Time("ok");
  ASSERT_TRUE(timing) << timing.error().message;
  EXPECT_GE(timing->seconds.size(), 50u);
  EXPECT_LT(timing->host_seconds, 10);
  EXPECT_EQ(timing->stop, StopReason::kSettled);
  request_.max_seconds = 0.05;
  request_.max_repetitions = 1 << 30;
  request_.enough = [](std::span<const double>) { return false; };
  const Call<Timing> endless = Time("ok");
  ASSERT_TRUE(endless) << endless.error().message;
  EXPECT_EQ(endless->stop, StopReason::kTimeLimit);
  EXPECT_EQ(Name(endless->stop), "time limit");
}

TEST_F(TimeTest, WallClockAndTransfersAreMeasuredApart) {
  const Call<Timing> timing = Time("ok");
  ASSERT_TRUE(timing) << timing.error().message;
  EXPECT_GT(timing->wall_s, 0);
  EXPECT_LT(timing->wall_s, timing->host_seconds);
  const TransferTimes& transfers = timing->transfers;
  EXPECT_GT(transfers.upload_s, 0);
  EXPECT_GT(transfers.download_s, 0);
  EXPECT_LT(transfers.upload_s + transfers.download_s, 10);  // there was one of each
  EXPECT_GE(transfers.upload_bytes, inputs_.a.bytes() + inputs_.b.bytes());
  EXPECT_GE(transfers.download_bytes, inputs_.y.size() * sizeof(float));
}

TEST_F(TimeTest, AStaleOutputShows) {
  const Call<Timing> timing = Time("stale");
  ASSERT_TRUE(timing) << timing.error().message;
  int64_t prefilled = 0;
  for (const Execution& execution : timing->judged) prefilled += execution.prefilled;
  EXPECT_GE(prefilled, 12);  // all but the one set that the very first execution may have written
}

TEST_F(TimeTest, FaultsInTimedRuns) {
  EXPECT_THAT(Time("write_after").value().judged[1].guard_violations, testing::SizeIs(1));
  EXPECT_THAT(Time("change_input").value().judged[2].changed_inputs, testing::SizeIs(1));
  const Call<Timing> crashed = Time("segfault");
  ASSERT_FALSE(crashed);
  EXPECT_EQ(crashed.error().outcome, Outcome::kCrash);
  EXPECT_THAT(crashed.error().message, HasSubstr("during execute"));
  ExpectStillWorks();
}

TEST_F(TimeTest, ADurationThatIsNoneIsAnErrorOfThePlugin) {
  const Misbehave misbehave("nan_time");
  const Call<Timing> timing = Time("ok");
  ASSERT_FALSE(timing);
  EXPECT_EQ(timing.error().outcome, Outcome::kError);
  EXPECT_THAT(timing.error().message, HasSubstr("not a duration"));
}

TEST_F(TimeTest, OneSetIsNotEnough) {
  const Call<Prepared> prepared = session_.Prepare(0, problem_, "ok");
  ASSERT_TRUE(prepared);
  const InputSet sets[] = {inputs_.set()};
  EXPECT_FALSE(session_.Time(prepared->plan, sets, request_));
}

}  // namespace
}  // namespace assay
