// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/result_store.h"

#include <gtest/gtest.h>

#include "harness/core/model/record_file.h"
#include "harness/plan/catalog.h"
#include "tests/support/quiet_observer.h"
#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// A result that passed and is timed once more.
class FurtherRound : public testing::Test {
 protected:
  FurtherRound() {
    planned_.spec = ParseId("reduce/f32/shape=4x8,axes=1/fill=normal/seed=0").value();
    data_ = PrepareCase(planned_.spec, "auto", GoldenStore(fs::path())).value();
  }

  Attempt Timed(Verdict verdict) const {
    Attempt attempt;
    attempt.verdict = verdict;
    attempt.record.case_id = planned_.spec.Id();
    attempt.record.backend = "cpu";
    attempt.record.implementation = "tree";
    attempt.record.verdict = attempt.record.outcome = Name(verdict);
    attempt.record.time_median_s = attempt.record.upload_s = 1;
    attempt.record.bound_by = "memory";
    return attempt;
  }

  // The record after the round, in which the bits changed.
  Record Nondeterministic(const std::vector<Expectation>& expectations, size_t failed) {
    RunFolder folder = RunFolder::Create(out_).value();
    ResultStore store(folder, expectations, observer_);
    const TrialRunner runner(planned_, data_, settings_);
    store.Add(place_, Timed(Verdict::kPass));
    store.EndCase(0, data_, runner);
    Attempt again = Timed(Verdict::kNondeterministic);
    store.Change(place_, again, data_, runner);
    EXPECT_EQ(store.failed(), failed);
    return store.Finish().first[0];
  }

  QuietObserver observer_;
  const TemporaryFolder folder_;
  const fs::path out_ = folder_.Path("out");
  PlannedCase planned_;
  PreparedCase data_;
  RunnerSettings settings_;
  const RecordPlace place_;
};

TEST_F(FurtherRound, AFailureCountsAndHasItsFolderAndNoTime) {
  const Record record = Nondeterministic({}, 1);
  EXPECT_EQ(record.outcome, "nondeterministic");
  EXPECT_TRUE(fs::exists(out_ / record.failure_dir / "reproduce.txt"));
  EXPECT_NE(record.failure_dir, "");
  EXPECT_FALSE(record.time_median_s);
  EXPECT_FALSE(record.upload_s);
  EXPECT_EQ(record.bound_by, "");
}

TEST_F(FurtherRound, AKnownFlakeDoesNotCountAndHasNoFolder) {
  const auto rules = ParseExpectations(
                         "[[known_flake]]\nid = 'a'\nbackend = 'cpu'\nverdicts = 'nondeterministic'\n"
                         "reason = 'adds in any order'",
                         "rules", Catalog())
                         .value()
                         .rules;
  const Record record = Nondeterministic(rules, 0);
  EXPECT_EQ(record.outcome, "known_flake");
  EXPECT_EQ(record.failure_dir, "");
  EXPECT_FALSE(fs::exists(out_ / "failures"));
}

// Cases of one group are under way at once.
TEST_F(FurtherRound, TheEndOfACaseIsThatOfItsFailuresAlone) {
  RunFolder folder = RunFolder::Create(out_).value();
  const std::vector<Expectation> none;
  ResultStore store(folder, none, observer_);
  const TrialRunner runner(planned_, data_, settings_);
  for (const size_t index : {0, 1, 2}) store.Add({index}, Timed(Verdict::kMismatch));
  EXPECT_EQ(store.failed(), 0u);
  store.EndCase(1, data_, runner);
  EXPECT_EQ(store.failed(), 1u);
  store.EndCase(0, data_, runner);
  store.EndCase(2, data_, runner);
  const RecordList records = store.Finish().first;
  ASSERT_EQ(records.size(), 3u);
  for (const Record& record : records) EXPECT_TRUE(fs::exists(out_ / record.failure_dir / "reproduce.txt"));
}

// A result that passed in a run that was ended before it was timed, and is run again in the continued one.
class PassThatIsRunAgain : public FurtherRound {
 protected:
  // The record in the end.
  Record After(Verdict verdict) {
    RunFolder folder = RunFolder::Create(out_).value();
    const std::vector<Expectation> none;
    ResultStore store(folder, none, observer_);
    ResumedRun resumed;
    resumed.records.push_back(Before());
    resumed.begun[{planned_.spec.Id(), "cpu", ""}].offered = {"tree"};
    Device device;
    device.backend = "cpu";
    store.Restore(resumed, {planned_}, {device});
    EXPECT_EQ(store.At(place_).verdict, "pass") << "until the other one is there";
    store.Add(place_, Timed(verdict));
    const TrialRunner runner(planned_, data_, settings_);
    store.EndCase(0, data_, runner);
    const RecordList records = store.Finish().first;
    EXPECT_EQ(records.size(), 1u);
    EXPECT_EQ(ReadRecords(out_ / "results.jsonl").value().records.size(), 1u);
    return records[0];
  }

 private:
  Record Before() const {
    Record record = Timed(Verdict::kPass).record;
    record.time_median_s.reset();
    return record;
  }
};

TEST_F(PassThatIsRunAgain, HasItsTimes) {
  const Record record = After(Verdict::kPass);
  EXPECT_EQ(record.verdict, "pass");
  EXPECT_TRUE(record.time_median_s);
  EXPECT_EQ(record.tries, "");
}

TEST_F(PassThatIsRunAgain, IsFlakyWhereItEndsOtherwise) {
  const Record record = After(Verdict::kMismatch);
  EXPECT_EQ(record.verdict, "flaky");
  EXPECT_EQ(record.outcome, "flaky");
  EXPECT_EQ(record.tries, "pass,mismatch");
  EXPECT_NE(record.failure_dir, "");
  EXPECT_FALSE(record.time_median_s);
}

TEST_F(PassThatIsRunAgain, StandsWhereItsDeviceIsNotThere) {
  EXPECT_EQ(After(Verdict::kUnavailable).verdict, "pass");
}

}  // namespace
}  // namespace assay
