// SPDX-License-Identifier: Apache-2.0
// Results that passed are timed, and the outputs of the timed loop are judged again.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/engine_fixture.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

class TimedLoop : public EngineTest {
 protected:
  // Content 0 is the case's own, 1 the first twin's; sets have one and the other in turns.
  Attempt TimeWhere(const Deed& deed, size_t content, bool cold = false) {
    session_->behave = Doing(deed, [=](const FakeCall& call) {
      return call.what == Asked::kDownload && call.set % 2 == content && call.cold == cold;
    });
    Attempt attempt = Time();
    ExpectNoPlanLeft();
    return attempt;
  }
  void ExpectNoTime(const Attempt& attempt) const {
    EXPECT_TRUE(attempt.rounds.empty());
    EXPECT_FALSE(attempt.record.time_median_s);
  }
};

TEST_F(TimedLoop, OfARightResultGivesItsTimes) {
  settings_.perf_time_s = 0.1;  // of a hundred executions, of which those on changed data count
  const Attempt attempt = Time();
  EXPECT_EQ(attempt.verdict, Verdict::kPass) << attempt.reason;
  EXPECT_EQ(attempt.record.time_median_s, 0.001);
  EXPECT_GE(attempt.record.samples, 1);  // as many as the time was enough for
  EXPECT_EQ(attempt.record.timing_invalid, "");
  EXPECT_EQ(attempt.record.time_cold_median_s, 0.001);
  EXPECT_EQ(attempt.record.second_set, "twin");
  EXPECT_EQ(attempt.rounds.size(), 1U);
  EXPECT_EQ(attempt.record.prepare_cached_s, 0.25);  // the same worker prepared it before
  ExpectNoPlanLeft();
}

TEST_F(TimedLoop, AWrongElementInEitherSetIsAMismatch) {
  for (const size_t set : {0, 1}) {
    session_->calls.clear();
    const Attempt attempt = TimeWhere({.wrong = true}, set);
    EXPECT_EQ(attempt.record.verdict, "mismatch");
    EXPECT_THAT(attempt.reason, HasSubstr("in the timed loop, after passing: "));
    EXPECT_EQ(attempt.record.decided_by, "later executions");
    ASSERT_EQ(attempt.kept.size(), 1U);
    EXPECT_EQ(attempt.kept[0].twin, set == 0 ? KeptOutputSet::kOwn : 0);
    ExpectNoTime(attempt);
  }
}

// Outputs to judge are drawn from calls of several batch sizes.
TEST_F(TimedLoop, WhatGoesWrongInLargeBatchesAloneIsAMismatch) {
  session_->times.kernel_s = 50e-6;
  session_->behave =
      Doing({.wrong = true}, [](const FakeCall& call) { return call.what == Asked::kDownload && call.batch > 2; });
  const Attempt attempt = Time();
  EXPECT_EQ(attempt.verdict, Verdict::kMismatch);
  EXPECT_THAT(attempt.reason, HasSubstr("in the timed loop, after passing: "));
}

TEST_F(TimedLoop, AnOldResultDoesNotPassForANewOne) {
  session_->behave = Doing({.stale = true}, [](const FakeCall& call) { return call.what == Asked::kBatch; });
  const Attempt attempt = Time();
  EXPECT_EQ(attempt.verdict, Verdict::kMismatch);
  ExpectNoTime(attempt);
}

TEST_F(TimedLoop, AnUnwrittenElementIsAMismatch) {
  EXPECT_EQ(TimeWhere({.unwritten = true}, 0).verdict, Verdict::kMismatch);
}

TEST_F(TimedLoop, ASideEffectIsAFaultOfMemory) {
  for (const Deed& deed : {Deed{.stray_write = true}, Deed{.changed_input = true}}) {
    session_->calls.clear();
    const Attempt attempt = TimeWhere(deed, 1);
    EXPECT_EQ(attempt.verdict, Verdict::kMismatch);
    EXPECT_TRUE(attempt.memory_fault);
    ExpectNoTime(attempt);
  }
}

TEST_F(TimedLoop, OtherBitsThatAreRightAreNoted) {
  const Attempt attempt = TimeWhere({.other_bits = true}, 0);
  EXPECT_EQ(attempt.verdict, Verdict::kPass) << attempt.reason;
  EXPECT_EQ(attempt.record.deterministic, false);
  EXPECT_TRUE(attempt.record.time_median_s);
}

TEST_F(TimedLoop, OtherBitsThatWerePromisedToStayAreAFailure) {
  session_->offer = Offering({{"plain", "f32acc; det=yes"}});
  const Attempt attempt = TimeWhere({.other_bits = true}, 0);
  EXPECT_EQ(attempt.verdict, Verdict::kNondeterministic);
  EXPECT_EQ(attempt.kept.size(), 2U);
  ExpectNoTime(attempt);
}

TEST_F(TimedLoop, WithColdCachesIsJudgedToo) {
  const Attempt attempt = TimeWhere({.wrong = true}, 0, true);
  EXPECT_EQ(attempt.verdict, Verdict::kMismatch);
  ExpectNoTime(attempt);
}

TEST_F(TimedLoop, WithColdCachesMayBeImpossible) {
  session_->flushes_caches = false;
  const Attempt attempt = Time();
  EXPECT_EQ(attempt.verdict, Verdict::kPass);
  EXPECT_FALSE(attempt.record.time_cold_median_s);
  EXPECT_THAT(attempt.record.cold_note, HasSubstr("no way to flush"));
}

TEST_F(TimedLoop, WithColdCachesMayBeLeftOut) {
  settings_.cold = false;
  EXPECT_THAT(Time().record.cold_note, HasSubstr("left out"));
  for (const FakeCall& call : session_->calls) EXPECT_FALSE(call.cold);
}

TEST_F(TimedLoop, ThatEndsTheWorkerIsNoTimeButAVerdict) {
  for (const bool cold : {false, true}) {
    for (const Asked what : {Asked::kBind, Asked::kUpload, Asked::kBatch, Asked::kDownload}) {
      if (cold && (what == Asked::kBind || what == Asked::kUpload)) continue;  // those come before its first batch
      session_->calls.clear();
      session_->behave = Doing({.fails = FailureKind::kTimeout},
                               [=](const FakeCall& call) { return call.what == what && call.cold == cold; });
      const Attempt attempt = Time();
      EXPECT_EQ(attempt.record.verdict, "timeout");
      ExpectNoTime(attempt);
      ExpectNoPlanLeft();
    }
  }
}

TEST_F(TimedLoop, OfWhatCannotBePreparedAgainIsAVerdict) {
  session_->behave = DoingAt({.fails = FailureKind::kOutOfMemory}, Asked::kPrepare, 1);
  const Attempt attempt = Time();
  EXPECT_EQ(attempt.verdict, Verdict::kError);
  ExpectNoTime(attempt);
}

TEST_F(TimedLoop, InAnotherWorkerHasNoCachedPreparation) {
  settings_.perf_time_s = 0.01;
  TrialRunner runner(planned_, data_, settings_);
  Attempt timed;
  runner.Judge(device_, [&](Attempt attempt) { timed = std::move(attempt); });
  session_->Restart();
  runner.Time(device_, timed);
  EXPECT_EQ(timed.verdict, Verdict::kPass);
  EXPECT_FALSE(timed.record.prepare_cached_s);
}

// Two builds of one plugin, each with its worker.
class InTurns : public TimedLoop {
 protected:
  void TimeBoth() {
    session_->times.kernel_s = other_->times.kernel_s = 0.0001;
    settings_.perf_time_s = 0.01;
    TrialRunner runner(planned_, data_, settings_);
    attempts_.clear();
    for (const Device* device : {&device_, &other_device_}) {
      runner.Judge(*device, [&](Attempt attempt) { attempts_.push_back(std::move(attempt)); });
    }
    ASSERT_EQ(attempts_.size(), 2U);
    std::vector<TrialRunner::Timed> timed;
    timed.push_back({.device = &device_, .attempt = &attempts_[0]});
    timed.push_back({.device = &other_device_, .attempt = &attempts_[1]});
    runner.TimeInTurns(timed);
    for (const auto& session : {session_, other_}) {
      EXPECT_EQ(session->open_plans(), 0U);
      EXPECT_EQ(session->released_twice, 0);
    }
  }

  std::shared_ptr<FakeSession> other_ = std::make_shared<FakeSession>();
  Device other_device_ = FakeDevice("other", other_);
  std::vector<Attempt> attempts_;
};

TEST_F(InTurns, BothAreTimedSliceBySlice) {
  // When either has its last step, the other one has had two at least.
  size_t fewest = 6;
  const auto watch = [&](const std::shared_ptr<FakeSession>& peer) {
    return [&fewest, peer = peer.get()](const FakeCall& call) {
      if (call.what == Asked::kBatch && !call.cold && call.number == 6) {
        fewest = std::min(fewest, peer->CallsOf(Asked::kBatch).size());
      }
      return Deed();
    };
  };
  session_->behave = watch(other_);
  other_->behave = watch(session_);
  TimeBoth();
  for (const Attempt& attempt : attempts_) {
    EXPECT_EQ(attempt.verdict, Verdict::kPass) << attempt.reason;
    EXPECT_EQ(attempt.record.time_median_s, 0.0001);
    EXPECT_TRUE(attempt.record.round_slices_s.starts_with("0.0001/0.0001/0.0001")) << attempt.record.round_slices_s;
  }
  EXPECT_GE(fewest, 2U);
}

TEST_F(InTurns, TheEndOfOneIsNotThatOfTheOther) {
  for (const Asked what : {Asked::kPrepare, Asked::kBind, Asked::kUpload, Asked::kBatch, Asked::kDownload}) {
    session_->calls.clear();
    const int number = what == Asked::kPrepare ? 1 : 0;
    session_->behave = DoingAt({.fails = FailureKind::kCrash}, what, number);
    TimeBoth();
    EXPECT_EQ(attempts_[0].record.verdict, "crash");
    EXPECT_EQ(attempts_[1].record.verdict, "pass");
    EXPECT_TRUE(attempts_[1].record.time_median_s);
  }
}

}  // namespace
}  // namespace assay::test
