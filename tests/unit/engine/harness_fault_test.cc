// SPDX-License-Identifier: Apache-2.0
// A fault of the harness itself is an error of the case and implementation that it was at work on, with its reason.
#include <gmock/gmock.h>

#include <fstream>

#include "harness/engine/run_loop.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/failing_operator.h"
#include "tests/support/quiet_observer.h"
#include "tests/unit/temporary_folder.h"

namespace assay::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class HarnessFault : public EngineTest {
 protected:
  HarnessFault() { data_.op = &op_; }

  FailingOperator op_{*data_.op};
};

TEST_F(HarnessFault, InJudgingIsAnErrorOfOneImplementation) {
  session_->offer = Offering({{"first", "f32acc"}, {"second", "f32acc;det=yes"}});
  settings_.relations = RelationEffort::kQuick;
  for (const HostWork work :
       {HostWork::kBound, HostWork::kTwin, HostWork::kMutants, HostWork::kCanonicalise, HostWork::kRelations}) {
    op_.fails_at = work;
    op_.holds = 0;
    const std::vector<Attempt> attempts = JudgeAll();
    ASSERT_EQ(attempts.size(), 2U);
    for (const Attempt& attempt : attempts) {
      EXPECT_EQ(attempt.verdict, Verdict::kError);
      EXPECT_EQ(attempt.record.verdict, "error");
      EXPECT_EQ(attempt.record.reason, std::string("the harness failed on this case: ") + FailingOperator::kFault);
      EXPECT_EQ(attempt.record.fault, "assay");
      EXPECT_FALSE(attempt.findings);
    }
    ExpectNoPlanLeft();
    op_.fails_at = HostWork::kNone;
    EXPECT_THAT(JudgeAll(), Each(testing::Field(&Attempt::verdict, Verdict::kPass)));
  }
}

// Only what the first implementation is judged by; the second one's is made after it.
TEST_F(HarnessFault, OfOneIsNotThatOfTheNext) {
  session_->offer = Offering({{"first", "f32acc"}, {"second", "f32acc"}});
  op_.fails_at = HostWork::kCanonicalise;
  session_->behave = [this](const FakeCall& call) {
    if (call.implementation == "second") op_.fails_at = HostWork::kNone;
    return Deed();
  };
  const std::vector<Attempt> attempts = JudgeAll();
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].verdict, Verdict::kError);
  EXPECT_EQ(attempts[1].verdict, Verdict::kPass) << attempts[1].reason;
  ExpectNoPlanLeft();
}

TEST_F(HarnessFault, InJudgingOnceMoreIsAnErrorToo) {
  op_.fails_at = HostWork::kBound;
  const Attempt attempt = TrialRunner(planned_, data_, settings_).JudgeAgain(device_, "plain");
  EXPECT_EQ(attempt.record.verdict, "error");
  EXPECT_THAT(attempt.record.reason, HasSubstr(FailingOperator::kFault));
}

std::string SumOf(int rows) {
  return "reduce/f32/shape=" + std::to_string(rows) + "x8,axes=1/fill=normal/seed=0";
}

// Three cases on two devices; the operator of the second case fails.
class FaultOfARun : public testing::Test {
 protected:
  FaultOfARun() {
    for (const int rows : {4, 5, 6}) cases_.push_back(Planned(SumOf(rows)));
    cases_[1].held = std::make_shared<BoundCase>(BoundCase{&op_, cases_[1].Bound()->problem});
    settings_.runner = QuietSettings();
    settings_.tier = "auto";
    settings_.observer = &observer_;
    settings_.devices_at_once = 2;
  }

  // "5x8 one plain error", of the results that did not pass.
  std::vector<std::string> RunAndTellFailures() {
    RunFolder folder = RunFolder::Create(temporary_.Path("run")).value();
    result_ = RunCases(cases_, {FakeDevice("one", one_), FakeDevice("two", two_)}, settings_, folder);
    std::vector<std::string> failures;
    for (const Record& r : result_.records) {
      if (r.verdict == "pass") continue;
      failures.push_back(r.case_id.substr(17, 3) + " " + r.backend + " " + r.implementation + " " + r.verdict);
      EXPECT_THAT(r.reason, HasSubstr(reason_));
    }
    for (const auto& session : {one_, two_}) EXPECT_EQ(session->open_plans(), 0U);
    return failures;
  }

  const TemporaryFolder temporary_;
  FailingOperator op_{*OperatorRegistry::Global().Find("reduce")};
  std::vector<PlannedCase> cases_;
  std::shared_ptr<FakeSession> one_ = std::make_shared<FakeSession>(), two_ = std::make_shared<FakeSession>();
  QuietObserver observer_;
  RunPolicy settings_;
  LoopResult result_;
  std::string reason_ = FailingOperator::kFault;
};

TEST_F(FaultOfARun, AGoldenComputationThatThrowsIsAnErrorOfItsCase) {
  op_.fails_at = HostWork::kGolden;
  reason_ = "the host ran out of memory on this case";
  EXPECT_THAT(RunAndTellFailures(), ElementsAre("5x8 " + std::string(kHarnessBackend) + "  error"));
  EXPECT_EQ(result_.records.size(), 5U);
}

TEST_F(FaultOfARun, InJudgingIsAnErrorOnEachDeviceAndOtherCasesGoOn) {
  op_.fails_at = HostWork::kBound;
  EXPECT_THAT(RunAndTellFailures(), ElementsAre("5x8 one plain error", "5x8 two plain error"));
  EXPECT_EQ(result_.records.size(), 6U);
  EXPECT_EQ(observer_.failed.size(), 2U);
}

TEST_F(FaultOfARun, OutsideOfAnyImplementationIsAnErrorOfThatDevice) {
  one_->offer = [](const Problem& problem, const LayoutVariant&) -> std::vector<ImplementationInfo> {
    if (problem.spec.Id() == SumOf(5)) throw std::bad_alloc();
    return {{"plain", "f32acc"}};
  };
  reason_ = "the host ran out of memory on this case";
  EXPECT_THAT(RunAndTellFailures(), ElementsAre("5x8 one  error"));
  EXPECT_EQ(result_.records.size(), 6U);
}

// The golden value of the twin that shows the mismatch is made once more for the folder.
TEST_F(FaultOfARun, InKeepingTheTensorsOfAFailureIsANote) {
  op_.fails_at = HostWork::kGolden;
  op_.holds = 1;
  one_->behave = Doing({.wrong = true}, [](const FakeCall& call) {
    return call.what == Asked::kExecute && call.case_id == SumOf(5) && !call.own;
  });
  reason_ = "exact twin";
  EXPECT_THAT(RunAndTellFailures(), ElementsAre("5x8 one plain mismatch"));
  EXPECT_EQ(result_.records.size(), 6U);
  ASSERT_EQ(observer_.notes.size(), 1U);
  EXPECT_THAT(observer_.notes[0], HasSubstr("the failure's tensors are not kept: the host ran out of memory"));
}

class TimedFault : public FaultOfARun {
 protected:
  TimedFault() { settings_.runner.perf_time_s = 0.01; }
};

TEST_F(TimedFault, InJudgingATimedLoopIsAnErrorWithoutATime) {
  // Its output has other bits than those that were judged before, so that it is judged.
  one_->behave = [this](const FakeCall& call) {
    if (call.what != Asked::kDownload || call.cold || call.case_id != SumOf(5)) return Deed();
    op_.fails_at = HostWork::kCanonicalise;
    return Deed{.other_bits = call.set % 2 == 0};
  };
  settings_.devices_at_once = 1;
  RunFolder folder = RunFolder::Create(temporary_.Path("run")).value();
  result_ = RunCases(cases_, {FakeDevice("one", one_)}, settings_, folder);
  ASSERT_EQ(result_.records.size(), 3U);
  for (const Record& record : result_.records) {
    EXPECT_EQ(record.verdict, record.case_id == SumOf(5) ? "error" : "pass") << record.reason;
    EXPECT_EQ(record.time_median_s.has_value(), record.case_id != SumOf(5));
  }
  EXPECT_THAT(result_.records[1].reason, HasSubstr(FailingOperator::kFault));
  EXPECT_EQ(result_.records[1].fault, "assay");
}

// The second computation is that of the second round.
TEST_F(TimedFault, InPreparingARoundLeavesOutTheRestOfItsCase) {
  settings_.rounds = 2;
  op_.fails_at = HostWork::kGolden;
  op_.holds = 1;
  EXPECT_THAT(RunAndTellFailures(), IsEmpty());
  ASSERT_EQ(observer_.notes.size(), 1U);
  EXPECT_THAT(observer_.notes[0], HasSubstr(SumOf(5) + ": the host ran out of memory on this case"));
  for (const Record& record : result_.records) {
    EXPECT_EQ(record.round_medians_s.find(',') != std::string::npos, record.case_id != SumOf(5));
  }
}

}  // namespace
}  // namespace assay::test
