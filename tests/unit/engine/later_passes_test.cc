// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/later_passes.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "tests/unit/engine/loop_fixture.h"

namespace assay::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RepeatedRun : public RunLoop {
 protected:
  static std::vector<std::string> TriesOf(const LoopResult& result) {
    std::vector<std::string> tries;
    for (const Record& record : result.records) tries.push_back(record.tries);
    return tries;
  }

  // The behaviour of the executions that begin with the `from`-th preparation of the second case's plan, up to `to`.
  static FakeSession::Behaviour InTries(int from, int to, const Deed& deed) {
    return [=, prepared = std::make_shared<std::atomic<int>>(0)](const FakeCall& call) {
      if (call.case_id != SumOfRows(5) || call.padded) return Deed();
      if (call.what == Asked::kPrepare) ++*prepared;
      return call.what == Asked::kExecute && *prepared >= from && *prepared < to ? deed : Deed();
    };
  }
};

TEST_F(RepeatedRun, EveryResultIsTriedSoOften) {
  settings_.repetition.passes = 5;
  const LoopResult result = Run();
  EXPECT_THAT(TriesOf(result), Each("pass*5"));
  for (const Record& record : result.records) {
    EXPECT_EQ(record.verdict, "pass");
    EXPECT_EQ(record.flake_rate, 0.0);
    EXPECT_NEAR(*record.flake_rate_high, 0.5218, 0.001);  // 1 - 0.025^(1/5)
  }
  for (const std::string& line : Lines("results.jsonl")) EXPECT_THAT(line, HasSubstr("\"tries\":\"pass*5\""));
  EXPECT_THAT(observer_.notes, testing::Contains("5 passes: 20 tries of 4 results, 0 of them flaky"));
  EXPECT_THAT(observer_.progress.back(), HasSubstr("pass 5 "));
}

TEST_F(RepeatedRun, OneThatFailsLaterIsFlakyWithItsTensors) {
  settings_.repetition.passes = 4;
  two_->behave = InTries(3, 4, {.wrong = true});
  const LoopResult result = Run();
  EXPECT_THAT(Ends(result),
              ElementsAre("4x8 one plain pass", "4x8 two plain pass", "5x8 one plain pass", "5x8 two plain flaky"));
  const Record& record = result.records[3];
  EXPECT_EQ(record.tries, "pass*2,mismatch,pass");
  EXPECT_EQ(record.outcome, "flaky");
  EXPECT_EQ(record.flake_rate, 0.25);
  EXPECT_THAT(record.reason, HasSubstr("First pass. Try 3, mismatch: "));
  EXPECT_NE(record.failure_dir, "");
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(path_) / record.failure_dir / "inputs.safetensors"));
  ASSERT_EQ(observer_.failed.size(), 1U);
  EXPECT_EQ(observer_.failed[0].verdict, "flaky");
}

TEST_F(RepeatedRun, OneThatPassesLaterIsFlakyAndSaysWhatFailed) {
  settings_.repetition.passes = 3;
  two_->behave = InTries(1, 2, {.wrong = true});
  const LoopResult result = Run();
  EXPECT_EQ(Ends(result).back(), "5x8 two plain flaky");
  EXPECT_EQ(result.records[3].tries, "mismatch,pass*2");
  EXPECT_THAT(result.records[3].reason, HasSubstr("First mismatch: "));
  EXPECT_NE(result.records[3].failure_dir, "");
}

TEST_F(RepeatedRun, OneThatAlwaysFailsKeepsItsVerdict) {
  settings_.repetition.passes = 3;
  two_->behave = InTries(1, 100, {.wrong = true});
  const LoopResult result = Run();
  EXPECT_EQ(Ends(result).back(), "5x8 two plain mismatch");
  EXPECT_EQ(result.records[3].tries, "mismatch*3");
  EXPECT_EQ(result.records[3].flake_rate, 1.0);
}

TEST_F(RepeatedRun, UntilItFailsStopsAtTheFirstFailure) {
  settings_.repetition.passes = std::numeric_limits<int64_t>::max();
  settings_.most_failures = 1;
  two_->behave = InTries(7, 8, {.wrong = true});
  const LoopResult result = Run();
  EXPECT_EQ(Ends(result).back(), "5x8 two plain flaky");
  EXPECT_EQ(result.records[3].tries, "pass*6,mismatch");
  EXPECT_FALSE(result.stopped) << "no case is missing";
}

TEST_F(RepeatedRun, TimeEndsIt) {
  settings_.repetition = {.passes = std::numeric_limits<int64_t>::max(), .seconds = 0.2};
  const LoopResult result = Run();
  EXPECT_THAT(Ends(result), testing::SizeIs(4));
  EXPECT_THAT(result.records[0].tries, HasSubstr("pass*"));
}

TEST_F(RepeatedRun, AnInterruptEndsItBetweenTries) {
  settings_.repetition.passes = std::numeric_limits<int64_t>::max();
  two_->behave = [this, executed = std::make_shared<std::atomic<int>>(0)](const FakeCall& call) {
    if (call.what == Asked::kPrepare && ++*executed == 40) interrupted_ = true;
    return Deed();
  };
  const LoopResult result = Run();
  EXPECT_TRUE(result.interrupted);
  for (const Record& record : result.records) EXPECT_EQ(record.verdict, "pass") << record.reason;
}

// Earlier verdicts of the lost device stand; the run reports the loss and does not use the device again.
TEST_F(RepeatedRun, ADeviceThatIsLostTakesNoVerdictBack) {
  settings_.repetition.passes = 4;
  two_->behave = InTries(2, 100, {.fails = FailureKind::kDeviceLost});
  const LoopResult result = Run();
  EXPECT_EQ(Ends(result).back(), "5x8 two plain pass");
  EXPECT_THAT(result.lost, HasSubstr("was lost in pass 2 over the cases"));
  EXPECT_EQ(result.records[2].tries, "pass*4") << "the other device goes on";
}

TEST_F(RepeatedRun, WhatIsNotOfferedIsNotTried) {
  settings_.repetition.passes = 3;
  two_->offer = Offering({});
  const LoopResult result = Run();
  EXPECT_THAT(TriesOf(result), ElementsAre("pass*3", "", "pass*3", ""));
}

class RetriedRun : public RunLoop {};

TEST_F(RetriedRun, ErrorsAreTriedAgainWhereTheUserAsks) {
  settings_.retries = {.most = 3, .of_answers = true};
  two_->behave = InSecondCase({.fails = FailureKind::kError}, Asked::kExecute);
  const LoopResult result = Run();
  EXPECT_EQ(Ends(result).back(), "5x8 two plain flaky");
  EXPECT_EQ(result.records[3].tries, "error,pass");
}

TEST_F(RetriedRun, TheSameEndIsTriedSoOften) {
  settings_.retries = {.most = 3, .of_answers = true};
  two_->behave = Doing({.fails = FailureKind::kCrash}, [](const FakeCall& call) {
    return call.what == Asked::kExecute && call.case_id == SumOfRows(5);
  });
  const LoopResult result = Run();
  EXPECT_EQ(Ends(result).back(), "5x8 two plain crash");
  EXPECT_EQ(result.records[3].tries, "crash*4");
  EXPECT_EQ(result.records[3].reason, "told to: crash [so 3 more times, each alone in a fresh worker]");
}

TEST_F(RetriedRun, NoneIsTriedAgainWithoutRetries) {
  settings_.retries.most = 0;
  two_->behave = InSecondCase({.fails = FailureKind::kCrash}, Asked::kExecute);
  const LoopResult result = Run();
  EXPECT_EQ(Ends(result).back(), "5x8 two plain crash");
  EXPECT_EQ(result.records[3].tries, "");
}

}  // namespace
}  // namespace assay::test
