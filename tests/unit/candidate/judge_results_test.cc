// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/candidate/judge_results.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/tools/candidate/ruling_text.h"

namespace assay {
namespace {

PlannedCase CaseOf(uint64_t seed) {
  PlannedCase planned;
  planned.spec.op = "exp";
  planned.spec.dtypes = {DType::kF32};
  planned.spec.fill = "normal";
  planned.spec.seed = seed;
  return planned;
}

Record RecordOf(const PlannedCase& planned, const char* backend, const char* verdict) {
  Record r;
  r.case_id = planned.spec.Id(), r.op = "exp", r.dtype = "f32", r.backend = backend, r.implementation = "kernel";
  r.verdict = r.outcome = verdict;
  if (r.verdict == "pass") {
    r.result_class = "within_class";
    r.time_median_s = backend == std::string(kCandidate) ? 0.001 : 0.002;
    r.round_medians_s = backend == std::string(kCandidate) ? "0.001,0.001,0.0011,0.001,0.001,0.001,0.001,0.00101"
                                                           : "0.002,0.002,0.0021,0.002,0.002,0.002,0.002,0.00203";
    r.time_wall_s = *r.time_median_s * 1.1;
    r.round_walls_s = backend == std::string(kCandidate) ? "0.0011,0.0011,0.0012,0.0011,0.0011,0.0011,0.0011,0.0011"
                                                         : "0.0022,0.0022,0.0023,0.0022,0.0022,0.0022,0.0022,0.0022";
  }
  r.reason = r.verdict == "pass" ? "" : "why it " + r.verdict;
  return r;
}

class JudgingResults : public testing::Test {
 protected:
  Ruling Judge(bool timed = true) {
    return JudgeCandidate({.visible = std::span(cases_).first(1),
                           .hidden = std::span(cases_).subspan(1),
                           .records = records_,
                           .timed = timed,
                           .has_reference = has_reference_,
                           .broken = broken_});
  }
  void Add(size_t index, const char* candidate, const char* reference) {
    records_.push_back(RecordOf(cases_[index], kCandidate, candidate));
    records_.push_back(RecordOf(cases_[index], kReference, reference));
  }

  std::vector<PlannedCase> cases_ = {CaseOf(0), CaseOf(1), CaseOf(2)};
  std::vector<Record> records_;
  bool has_reference_ = true;
  std::string broken_;
};

TEST_F(JudgingResults, AcceptsWhatPassesEverywhereAndSaysHowFast) {
  for (size_t i = 0; i < 3; ++i) Add(i, "pass", "pass");
  const Ruling ruling = Judge();
  EXPECT_EQ(ruling.verdict, RulingVerdict::kAccepted);
  EXPECT_EQ(ruling.visible.passed, 1u);
  EXPECT_EQ(ruling.hidden.passed, 2u);
  EXPECT_NEAR(1 / ruling.speed.all.ratio, 2, 0.05);
  EXPECT_EQ(ruling.speed.all.verdict, TimeVerdict::kFaster);
  EXPECT_NEAR(1 / ruling.speed.wall.ratio, 2, 0.05);
  const auto json = RulingJson(ruling, {});
  EXPECT_NEAR(json["speed"]["ratio"].get<double>(), 2, 0.05);
  EXPECT_LE(json["speed"]["low"].get<double>(), json["speed"]["high"].get<double>());
  EXPECT_NEAR(json["speed"]["wall_ratio"].get<double>(), 2, 0.05);
  EXPECT_LE(json["speed"]["wall_low"].get<double>(), json["speed"]["wall_ratio"].get<double>());
  EXPECT_EQ(json["speed"]["wall_verdict"], "FASTER");
  EXPECT_TRUE(json["first_failure"].is_null());
}

TEST_F(JudgingResults, NeedsNoReferenceWhereGoldenValuesAreTheTask) {
  for (const PlannedCase& planned : cases_) records_.push_back(RecordOf(planned, kCandidate, "pass"));
  EXPECT_EQ(Judge(false).verdict, RulingVerdict::kError);  // the reference has not run
  has_reference_ = false;
  const Ruling ruling = Judge(false);
  EXPECT_EQ(ruling.verdict, RulingVerdict::kAccepted) << ruling.reason;
  EXPECT_EQ(ruling.visible.passed + ruling.hidden.passed, 3u);
  EXPECT_EQ(ruling.speed.why, "there is no reference (--against)");
  records_[1].verdict = records_[1].outcome = "mismatch";
  EXPECT_EQ(Judge(false).verdict, RulingVerdict::kRejected);
}

// The two clocks are the kernel's own and the host's around its calls.
TEST_F(JudgingResults, IsUnsureHowFastWhereTheTwoClocksContradict) {
  for (size_t i = 0; i < 3; ++i) Add(i, "pass", "pass");
  for (Record& r : records_) {
    if (r.backend != kCandidate) continue;
    r.round_walls_s = "0.0033,0.0033,0.0034,0.0033,0.0033,0.0033,0.0033,0.0033";
    r.time_wall_s = 0.0033;
  }
  const Ruling ruling = Judge();
  EXPECT_EQ(ruling.verdict, RulingVerdict::kAccepted);
  const auto speed = RulingJson(ruling, {})["speed"];
  EXPECT_EQ(speed["verdict"], "UNSURE");
  EXPECT_EQ(speed["wall_verdict"], "SLOWER");
  EXPECT_NEAR(speed["ratio"].get<double>(), 2, 0.05);
  EXPECT_NE(speed["why"].get<std::string>().find("SLOWER: 0.667 times as fast"), std::string::npos) << speed["why"];
}

TEST_F(JudgingResults, KnowsNoWallClockOfRecordsWithoutOne) {
  for (size_t i = 0; i < 3; ++i) Add(i, "pass", "pass");
  for (Record& r : records_) r.time_wall_s.reset(), r.round_walls_s.clear();
  const auto speed = RulingJson(Judge(), {})["speed"];
  EXPECT_EQ(speed["verdict"], "FASTER");
  EXPECT_TRUE(speed["wall_ratio"].is_null() && speed["wall_low"].is_null());
}

TEST_F(JudgingResults, NamesTheArithmeticOfAFailureOrSaysWhyNot) {
  Add(0, "below_contract", "pass");
  records_[0].lower_class_name = "bf16 operands";
  Add(1, "mismatch", "pass");
  Add(2, "mismatch", "pass");
  records_[4].nonfinite_mismatch = 3;
  const auto failures = RulingJson(Judge(), {})["failures"];
  EXPECT_EQ(failures[0]["arithmetic"], "bf16 operands");
  EXPECT_FALSE(failures[0].contains("arithmetic_unknown"));
  EXPECT_TRUE(failures[1].at("arithmetic").is_null());
  EXPECT_EQ(failures[1]["arithmetic_unknown"], "no known weaker arithmetic gives these values");
  EXPECT_EQ(failures[2]["arithmetic_unknown"], "values are wrong among NaN and infinities");
}

TEST_F(JudgingResults, SaysThatAFailureWithoutValuesHasNoArithmetic) {
  for (size_t i = 0; i < 3; ++i) Add(i, i == 0 ? "crash" : "pass", "pass");
  for (const Ruling& ruling : {Judge(), MakeUnloadedRuling("no such file")}) {
    const auto failure = RulingJson(ruling, {})["first_failure"];
    EXPECT_TRUE(failure.at("arithmetic").is_null());
    EXPECT_EQ(failure.at("arithmetic_unknown"), "it is no failure of values");
  }
}

TEST_F(JudgingResults, RejectsByTheFirstFailureInTheOrderOfTheCases) {
  Add(2, "crash", "pass");
  Add(1, "mismatch", "pass");
  Add(0, "pass", "pass");
  const Ruling ruling = Judge();
  EXPECT_EQ(ruling.verdict, RulingVerdict::kRejected);
  ASSERT_EQ(ruling.failures.size(), 2u);
  EXPECT_EQ(ruling.failures[0].case_id, cases_[1].spec.Id());
  EXPECT_EQ(ruling.failures[0].set, "hidden");
  EXPECT_EQ(ruling.hidden.failed, 2u);
  EXPECT_NE(ruling.explanation.find("Every visible case passes"), std::string::npos) << ruling.explanation;
}

TEST_F(JudgingResults, RejectsWhatDoesNotTakeACaseOfTheReference) {
  for (size_t i = 0; i < 3; ++i) Add(i, i == 1 ? "unsupported" : "pass", "pass");
  const Ruling ruling = Judge();
  EXPECT_EQ(ruling.verdict, RulingVerdict::kRejected);
  EXPECT_EQ(ruling.failures[0].what, "unsupported");
}

TEST_F(JudgingResults, RejectsTimesThatCannotBeTrue) {
  for (size_t i = 0; i < 3; ++i) Add(i, "pass", "pass");
  records_[4].timing_invalid = "too short";
  const Ruling ruling = Judge();
  EXPECT_EQ(ruling.verdict, RulingVerdict::kRejected);
  EXPECT_EQ(ruling.failures[0].what, "timing_invalid");
  EXPECT_EQ(ruling.failures[0].reason, "too short");
  EXPECT_EQ(ruling.times_invalid, 1u);
}

// A delay that a busy host may have caused is held against nobody, and is no proof of speed by either clock.
TEST_F(JudgingResults, IsUnsureHowFastWhereTheHostWasBusy) {
  for (const size_t doubted : {size_t{4}, size_t{5}}) {
    records_.clear();
    for (size_t i = 0; i < 3; ++i) Add(i, "pass", "pass");
    records_[doubted].timing_unsure = "the host was busy";
    records_[doubted].time_at_most_s = 0.02;
    const Ruling ruling = Judge();
    EXPECT_EQ(ruling.verdict, RulingVerdict::kAccepted);
    EXPECT_EQ(ruling.failures_in_all, 0u);
    const auto speed = RulingJson(ruling, {})["speed"];
    EXPECT_EQ(speed["verdict"], "UNSURE");
    EXPECT_EQ(speed["wall_verdict"], "UNSURE");
    EXPECT_TRUE(speed["low"].is_null() && speed["wall_low"].is_null());
    EXPECT_NE(speed["why"].get<std::string>().find("the host was busy"), std::string::npos);
  }
}

TEST_F(JudgingResults, HoldsNothingAgainstItWhereTheReferenceFailsToo) {
  Add(0, "pass", "pass");
  Add(1, "mismatch", "mismatch");
  Add(2, "pass", "pass");
  const Ruling ruling = Judge();
  EXPECT_EQ(ruling.verdict, RulingVerdict::kAccepted) << ruling.explanation;
  EXPECT_EQ(ruling.hidden.disputed, 1u);
}

TEST_F(JudgingResults, CannotSayAnythingWhereNothingProves) {
  for (size_t i = 0; i < 3; ++i) Add(i, "inconclusive", "inconclusive");
  EXPECT_EQ(Judge().verdict, RulingVerdict::kError);
  records_.resize(4);  // a case that has not run
  EXPECT_EQ(Judge().verdict, RulingVerdict::kError);
}

TEST_F(JudgingResults, ARunThatBrokeOffRejectsOnlyByWhatFailed) {
  for (size_t i = 0; i < 3; ++i) Add(i, "pass", "pass");
  broken_ = "it was interrupted";
  EXPECT_EQ(Judge().verdict, RulingVerdict::kError);
  records_[0].verdict = records_[0].outcome = "mismatch";
  EXPECT_EQ(Judge().verdict, RulingVerdict::kRejected);
}

TEST_F(JudgingResults, OfSeveralImplementationsAllHaveToBeRightAndTheFastestCounts) {
  for (size_t i = 0; i < 3; ++i) Add(i, "pass", "pass");
  Record slower = RecordOf(cases_[0], kCandidate, "pass");
  slower.implementation = "slower", slower.time_median_s = 1;
  records_.push_back(slower);
  const Ruling ruling = Judge();
  EXPECT_EQ(ruling.verdict, RulingVerdict::kAccepted);
  EXPECT_EQ(ruling.speed.cases[0].candidate, "kernel");
  records_.back().verdict = records_.back().outcome = "mismatch";
  EXPECT_EQ(Judge().verdict, RulingVerdict::kRejected);
}

}  // namespace
}  // namespace assay
