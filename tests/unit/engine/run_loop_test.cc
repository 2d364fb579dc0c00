// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/run_loop.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/engine/loop_fixture.h"

namespace assay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(RunLoop, RecordsStandInTheOrderOfThePlan) {
  const LoopResult result = Run();
  EXPECT_THAT(Ends(result),
              ElementsAre("4x8 one plain pass", "4x8 two plain pass", "5x8 one plain pass", "5x8 two plain pass"));
  EXPECT_FALSE(result.interrupted);
  EXPECT_EQ(result.write_error, "");
  EXPECT_EQ(result.offers.size(), 4U);
  EXPECT_EQ(Lines("offers.jsonl").size(), 4U);
  const std::vector<std::string> lines = Lines("results.jsonl");
  ASSERT_EQ(lines.size(), 4U);
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_THAT(lines[i], HasSubstr(result.records[i].case_id));
  EXPECT_THAT(observer_.failed, IsEmpty());
}

TEST_F(RunLoop, EachImplementationHasOneRecordInTheOrderOfItsOffer) {
  cases_.resize(1);
  one_->offer = Offering({{"b", "f32acc"}, {"a", "f32acc"}});
  EXPECT_THAT(Ends(Run()), ElementsAre("4x8 one b pass", "4x8 one a pass", "4x8 two plain pass"));
}

TEST_F(RunLoop, NothingIsPrinted) {
  two_->behave = Doing({.wrong = true}, [](const FakeCall& call) { return call.what == Asked::kExecute; });
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Run();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(RunLoop, AFailureIsToldAndKeptAndTheRunGoesOn) {
  two_->behave = Doing({.wrong = true}, [](const FakeCall& call) {
    return call.what == Asked::kExecute && call.case_id == SumOfRows(4);
  });
  const LoopResult result = Run();
  EXPECT_THAT(Ends(result),
              ElementsAre("4x8 one plain pass", "4x8 two plain mismatch", "5x8 one plain pass", "5x8 two plain pass"));
  ASSERT_EQ(observer_.failed.size(), 1U);
  EXPECT_EQ(observer_.failed[0].backend, "two");
  ASSERT_NE(result.records[1].failure_dir, "");
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(path_) / result.records[1].failure_dir / "reproduce.txt"));
}

TEST_F(RunLoop, ProgressCountsTheCasesBehindIt) {
  settings_.devices_at_once = 1;
  Run();
  std::ranges::sort(observer_.progress);  // both cases are one group, and a device may be ahead of the other
  ASSERT_EQ(observer_.progress.size(), 4U);
  EXPECT_EQ(observer_.progress.front(), "0 of 2: " + SumOfRows(4));
  EXPECT_EQ(observer_.progress.back(), "1 of 2: " + SumOfRows(5));
}

TEST_F(RunLoop, ACaseThatCannotRunIsARecordOfTheHarness) {
  const int64_t huge = int64_t{1} << 40;
  PlannedCase planned = Planned("reduce/f32/shape=" + std::to_string(huge) + "x8,axes=1/fill=normal/seed=0");
  planned.where = "big.suite:3";
  cases_.insert(cases_.begin(), planned);
  const LoopResult result = Run();
  ASSERT_EQ(result.records.size(), 5U);
  EXPECT_EQ(result.records[0].backend, kHarnessBackend);
  EXPECT_EQ(result.records[0].verdict, "error");
  EXPECT_THAT(result.records[0].reason, HasSubstr("big.suite:3: "));
  EXPECT_EQ(result.records[1].verdict, "pass");
}

TEST_F(RunLoop, WhereNoDeviceCanBeUsedCasesGetNoDataAndTheirRecordsSayTheSame) {
  Device none = FakeDevice("none", nullptr);
  none.problem = "no driver";
  const auto first_record = [&](const std::vector<Device>& devices) {
    static int runs = 0;
    RunFolder folder = RunFolder::Create(temporary_.Path("none" + std::to_string(++runs))).value();
    const LoopResult result = RunCases(cases_, devices, settings_, folder);
    EXPECT_EQ(result.records.size(), cases_.size() * devices.size());
    return result.records[0];
  };
  const Record prepared = first_record({none, FakeDevice("one", one_)}), unprepared = first_record({none});
  EXPECT_NE(prepared.input_hash, "");
  EXPECT_EQ(unprepared.input_hash + unprepared.golden_hash, "");
  for (const Record* r : {&prepared, &unprepared}) {
    EXPECT_EQ(r->verdict + ": " + r->reason, "unavailable: no driver");
    EXPECT_EQ(r->tier, "fast");
    EXPECT_EQ(r->elements, 4);
    EXPECT_EQ(r->flops, prepared.flops);
    EXPECT_EQ(r->bytes, prepared.bytes);
  }
  none.problem_kind = FailureKind::kCrash;
  EXPECT_NE(first_record({none}).input_hash, "") << "a failure is kept with its inputs";
}

TEST_F(RunLoop, ADeviceIsAskedOnceForEachCaseAndLayout) {
  settings_.runner.relations = RelationEffort::kNone;
  one_->offer = Offering({{"a", "f32acc"}, {"b", "f32acc"}, {"c", "f32acc"}});
  Run();
  std::vector<std::string> asked;
  for (const FakeCall& call : one_->CallsOf(Asked::kQuery)) {
    asked.push_back(call.case_id.substr(17, 3) + (call.padded ? " padded" : ""));
  }
  EXPECT_THAT(asked, ElementsAre("4x8", "4x8 padded", "4x8 padded", "5x8", "5x8 padded", "5x8 padded"))
      << "padded, and permuted";
}

TEST_F(RunLoop, AnInterruptEndsItWithWhatWasFound) {
  settings_.devices_at_once = 1;
  two_->behave = [this](const FakeCall& call) {
    if (call.what == Asked::kExecute && call.case_id == SumOfRows(4)) interrupted_ = true;
    return Deed();
  };
  const LoopResult result = Run();
  EXPECT_TRUE(result.interrupted);
  const std::vector<std::string> ends = Ends(result);
  EXPECT_NE(std::ranges::find(ends, "4x8 two plain pass"), ends.end());
  EXPECT_EQ(std::ranges::find(ends, "5x8 two plain pass"), ends.end());
  EXPECT_EQ(Lines("results.jsonl").size(), ends.size());
}

TEST_F(RunLoop, ACrashThatComesAgainStaysACrash) {
  two_->behave = Doing({.fails = FailureKind::kCrash}, [](const FakeCall& call) {
    return call.what == Asked::kExecute && call.case_id == SumOfRows(5);
  });
  const LoopResult result = Run();
  EXPECT_THAT(Ends(result),
              ElementsAre("4x8 one plain pass", "4x8 two plain pass", "5x8 one plain pass", "5x8 two plain crash"));
  EXPECT_EQ(result.records[3].reason, "told to: crash [so once more, alone in a fresh worker]");
  EXPECT_EQ(two_->CallsOf(Asked::kExecute).back().worker, 2);
  ASSERT_EQ(observer_.failed.size(), 1U);
  EXPECT_EQ(observer_.failed[0].verdict, "crash");
}

TEST_F(RunLoop, ACrashThatDoesNotComeAgainIsFlakyAndFails) {
  two_->behave = InSecondCase({.fails = FailureKind::kCrash}, Asked::kExecute);
  const LoopResult result = Run();
  EXPECT_EQ(Ends(result).back(), "5x8 two plain flaky");
  EXPECT_THAT(result.records[3].reason, HasSubstr("First crash: told to: crash."));
  EXPECT_THAT(result.records[3].reason, HasSubstr("alone in a fresh worker, pass"));
  EXPECT_EQ(observer_.failed.size(), 1U);
}

TEST_F(RunLoop, ACrashOfTheOfferIsTriedOnceMoreToo) {
  two_->behave = InSecondCase({.fails = FailureKind::kTimeout}, Asked::kQuery);
  EXPECT_EQ(Ends(Run()).back(), "5x8 two  flaky");
}

// An error that the worker survived is an answer.
TEST_F(RunLoop, AnErrorIsNotTriedOnceMore) {
  two_->behave = InSecondCase({.fails = FailureKind::kError}, Asked::kExecute);
  EXPECT_EQ(Ends(Run()).back(), "5x8 two plain error");
}

class TimedRun : public RunLoop {
 protected:
  TimedRun() { settings_.runner.perf_time_s = 0.01; }
};

TEST_F(TimedRun, EachResultThatPassedHasItsTimes) {
  one_->behave = Doing({.wrong = true}, [](const FakeCall& call) { return call.what == Asked::kExecute; });
  for (const Record& record : Run().records) {
    EXPECT_EQ(record.time_median_s.has_value(), record.backend == "two") << record.backend;
  }
}

TEST_F(TimedRun, ACrashOfTheTimedLoopIsTriedOnceMoreAndTimed) {
  two_->behave = InSecondCase({.fails = FailureKind::kCrash}, Asked::kBatch);
  const LoopResult result = Run();
  EXPECT_EQ(Ends(result).back(), "5x8 two plain flaky");
  EXPECT_FALSE(result.records[3].time_median_s);
  EXPECT_GT(two_->CallsOf(Asked::kDownload).back().worker, 1);
}

// Each of them in a fresh worker, over all cases.
TEST_F(TimedRun, EveryRoundAddsItsMedian) {
  settings_.rounds = 3;
  const LoopResult result = Run();
  ASSERT_EQ(result.records.size(), 4U);
  for (const Record& record : result.records) {
    EXPECT_EQ(record.verdict, "pass") << record.reason;
    EXPECT_EQ(record.round_medians_s, "0.001,0.001,0.001");
    EXPECT_GE(record.samples, 6);
  }
  EXPECT_EQ(one_->workers_started(), 3U);
  EXPECT_THAT(observer_.progress.back(), HasSubstr("of 6: round 3 "));
  for (const std::string& line : Lines("results.jsonl")) EXPECT_THAT(line, HasSubstr("0.001,0.001,0.001"));
}

TEST_F(TimedRun, AFailureOfALaterRoundIsToldAndHasNoTime) {
  settings_.rounds = 3;
  two_->behave = Doing({.wrong = true}, [](const FakeCall& call) {
    return call.what == Asked::kDownload && call.worker == 2 && call.case_id == SumOfRows(5) && call.set % 2 == 0;
  });
  const LoopResult result = Run();
  EXPECT_THAT(Ends(result),
              ElementsAre("4x8 one plain pass", "4x8 two plain pass", "5x8 one plain pass", "5x8 two plain mismatch"));
  EXPECT_FALSE(result.records[3].time_median_s);
  EXPECT_EQ(observer_.failed.size(), 1U);
  // And the third round leaves it out.
  const auto ends = two_->CallsOf(Asked::kDownload);
  EXPECT_TRUE(std::ranges::none_of(
      ends, [](const FakeCall& call) { return call.worker == 3 && call.case_id == SumOfRows(5); }));
}

}  // namespace
}  // namespace assay::test
