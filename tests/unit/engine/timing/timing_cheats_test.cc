// SPDX-License-Identifier: Apache-2.0
// Plugins that want to look faster than they are, timed by the engine: each is found, by its output or by the host's
// clock. An honest one is never taken for a cheat, whatever the machine does meanwhile.
#include <gmock/gmock.h>

#include <random>

#include "tests/support/engine_fixture.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

constexpr const char* kMatmul = "matmul/f32/m=6,n=5,k=8/fill=normal/seed=0";
constexpr const char* kManyRows = "matmul/f32/m=96,n=80,k=8/fill=normal/seed=0";
constexpr const char* kTransform = "fft/c64/kind=c2c,n=16/fill=near_one/seed=0";  // nothing in it can change places
constexpr const char* kSumOfAll = "reduce/f32/shape=6x7,axes=0+1,kind=l2/fill=normal/seed=0";

class Cheats : public EngineTest {
 protected:
  Attempt TimeCheat(Cheat cheat, const std::string& id = kMatmul) {
    planned_ = Planned(id);
    data_ = DataOf(planned_);
    session_->cheat = cheat;
    session_->calls.clear();
    settings_.cold = false;
    return Time();
  }
};

TEST_F(Cheats, AnHonestOneIsBelieved) {
  for (const char* id : {kMatmul, kTransform, kSumOfAll, kSum}) {
    const Attempt attempt = TimeCheat(Cheat::kNone, id);
    EXPECT_EQ(attempt.verdict, Verdict::kPass) << id << " " << attempt.reason;
    EXPECT_EQ(attempt.record.timing_invalid, "") << id;
    EXPECT_EQ(attempt.record.time_median_s, 0.001) << id;
  }
}

TEST_F(Cheats, AnHonestOneIsBelievedOnABusyMachine) {
  std::mt19937_64 random(11);
  session_->times.kernel_s = 50e-6;
  session_->times.jitter = [&] {
    const bool held_up = std::bernoulli_distribution(0.67)(random);
    return held_up ? std::exponential_distribution<double>(200)(random) : 0;
  };
  for (int run = 0; run < 60; ++run) {
    const Attempt attempt = TimeCheat(Cheat::kNone);
    ASSERT_EQ(attempt.verdict, Verdict::kPass) << attempt.reason;
    ASSERT_EQ(attempt.record.timing_invalid, "");
  }
}

TEST_F(Cheats, ForgedDurationsContradictTheHostsClock) {
  const Attempt attempt = TimeCheat(Cheat::kForges);
  EXPECT_EQ(attempt.verdict, Verdict::kPass);
  EXPECT_THAT(attempt.record.timing_invalid, HasSubstr("by the host's clock around its call"));
}

TEST_F(Cheats, WhatIsLeftOutIsSeenInTheOutput) {
  for (const char* id : {kMatmul, kTransform, kSumOfAll}) {
    const Attempt attempt = TimeCheat(Cheat::kSkips, id);
    EXPECT_EQ(attempt.verdict, Verdict::kMismatch) << id;
    EXPECT_THAT(attempt.reason, HasSubstr("in the timed loop")) << id;
  }
}

TEST_F(Cheats, WorkThatIsLeftToTheDownloadIsFound) {
  EXPECT_THAT(TimeCheat(Cheat::kIsLazy).record.timing_invalid, HasSubstr("s of work were left to the download"));
}

TEST_F(Cheats, WorkThatIsDoneByTheUploadIsFound) {
  EXPECT_THAT(TimeCheat(Cheat::kIsEager).record.timing_invalid, HasSubstr("s of work were done by the upload"));
}

TEST_F(Cheats, WorkThatGoesOnAfterwardsIsFound) {
  int named = 0;
  for (int run = 0; run < 5; ++run) {
    const Attempt attempt = TimeCheat(Cheat::kFinishesLater);
    EXPECT_EQ(attempt.verdict, Verdict::kMismatch);
    named += attempt.reason.find("the output changed after the execution had returned") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(named, 1);  // in one of eight the last output that was looked at has been overwritten since
}

TEST_F(Cheats, WhatIsRememberedDoesNotCount) {
  session_->times.kernel_s = 50e-6;
  settings_.perf_time_s = 10;  // it ends when the median is known, and not by the time that this test takes
  int found = 0;
  constexpr int kRuns = 5;
  for (int run = 0; run < kRuns; ++run) {
    const Attempt attempt = TimeCheat(Cheat::kRemembers, kManyRows);  // of which no order comes twice
    EXPECT_EQ(attempt.verdict, Verdict::kPass) << attempt.reason;
    EXPECT_EQ(attempt.record.time_median_s, 50e-6);  // of data that it had not seen
    const std::string& why = attempt.record.timing_invalid;
    found += why.find("executions on data that it had seen before took 1e-06 s") != why.npos ? 1 : 0;
  }
  EXPECT_GE(found, kRuns - 2);  // one in a hundred runs has too few of them to be sure
}

TEST_F(Cheats, WhatIsKnownByAFewBytesIsWrong) {
  settings_.perf_time_s = 10;
  for (const char* id : {kMatmul, kSum}) EXPECT_EQ(TimeCheat(Cheat::kSamples, id).verdict, Verdict::kMismatch) << id;
}

}  // namespace
}  // namespace assay::test
