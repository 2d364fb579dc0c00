// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/retries.h"

#include <gmock/gmock.h>

#include "tests/support/engine_fixture.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

class Retries : public EngineTest {
 protected:
  RetrySettings retries_;

  // The first one dies in its first execution.
  Attempt TryTwice(const FakeSession::Behaviour& second, bool timed = false) {
    settings_.perf_time_s = 0.01;
    TrialRunner runner(planned_, data_, settings_);
    Attempt attempt;
    session_->calls.clear();
    session_->behave = DoingAt({.fails = FailureKind::kCrash}, Asked::kExecute, 0);
    runner.Judge(device_, [&](Attempt first) { attempt = std::move(first); });
    EXPECT_TRUE(IsRetried(device_, attempt, retries_));
    session_->calls.clear();
    session_->behave = second;
    TryAgain(runner, device_, attempt, retries_, timed);
    ExpectNoPlanLeft();
    return attempt;
  }
};

TEST_F(Retries, TheSameEndStaysTheVerdict) {
  const Attempt attempt = TryTwice(DoingAt({.fails = FailureKind::kCrash}, Asked::kPrepare, 0));
  EXPECT_EQ(attempt.record.verdict, "crash");
  EXPECT_THAT(attempt.record.reason, HasSubstr("[so once more, alone in a fresh worker]"));
}

TEST_F(Retries, AnyOtherEndIsFlaky) {
  const Deed others[] = {{}, {.fails = FailureKind::kTimeout}, {.fails = FailureKind::kUnsupported}, {.wrong = true}};
  const char* const ends[] = {"pass", "timeout", "unsupported", "mismatch"};
  for (size_t i = 0; i < std::size(others); ++i) {
    const Attempt attempt = TryTwice(DoingAt(others[i], Asked::kExecute, 0));
    EXPECT_EQ(attempt.record.verdict, "flaky");
    EXPECT_THAT(attempt.record.reason, HasSubstr("First crash: "));
    EXPECT_THAT(attempt.record.reason, HasSubstr(std::string("alone in a fresh worker, ") + ends[i]));
  }
}

// Not in the one that began meanwhile, for the next implementation.
TEST_F(Retries, HasAFreshWorker) {
  TrialRunner runner(planned_, data_, settings_);
  Attempt attempt;
  attempt.implementation = "plain";
  attempt.SetFailure({FailureKind::kCrash, "it crashed"});
  ASSERT_TRUE(session_->Describe());
  TryAgain(runner, device_, attempt, retries_, false);
  for (const FakeCall& call : session_->calls) EXPECT_EQ(call.worker, call.what == Asked::kDescribe ? 1 : 2);
  EXPECT_EQ(attempt.verdict, Verdict::kFlaky);
}

TEST_F(Retries, IsTimedWhereTheFirstOneWas) {
  TryTwice(DoingAt({}, Asked::kBatch, 0), false);
  EXPECT_TRUE(session_->CallsOf(Asked::kBatch).empty());
  const Attempt attempt = TryTwice(DoingAt({.fails = FailureKind::kCrash}, Asked::kBatch, 0), true);
  EXPECT_EQ(attempt.verdict, Verdict::kCrash);
}

TEST_F(Retries, IsForThoseThatEndedWithTheirWorkerAlone) {
  Attempt attempt;
  for (const Verdict verdict : {Verdict::kError, Verdict::kMismatch, Verdict::kUnsupported, Verdict::kPass}) {
    attempt.verdict = verdict;
    EXPECT_FALSE(IsRetried(device_, attempt, retries_));
  }
  attempt.SetFailure({FailureKind::kTimeout, "it did not end"});
  EXPECT_TRUE(IsRetried(device_, attempt, retries_));
  device_.problem = "its plugin ends while it loads";
  EXPECT_FALSE(IsRetried(device_, attempt, retries_));
}

TEST_F(Retries, FollowTheTableOfFailures) {
  RetrySettings of_all = retries_;
  of_all.of_answers = true;
  for (const FailureRule& rule : kFailureRules) {
    if (rule.kind == FailureKind::kInterrupted) continue;
    Attempt attempt;
    attempt.SetFailure({rule.kind, "it failed"});
    EXPECT_EQ(attempt.verdict, rule.verdict) << rule.name;
    EXPECT_EQ(IsRetried(device_, attempt, retries_), rule.retry == Retry::kOnce) << rule.name;
    EXPECT_EQ(IsRetried(device_, attempt, of_all), rule.retry != Retry::kNever) << rule.name;
    EXPECT_EQ(DescribeEnd(attempt), rule.counts ? EndOf(attempt) : "") << rule.name;
  }
}

}  // namespace
}  // namespace assay::test
