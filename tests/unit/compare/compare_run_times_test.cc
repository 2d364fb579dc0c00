// SPDX-License-Identifier: Apache-2.0
// Conclusions from the times of two runs, and when there are none.
#include <gmock/gmock.h>

#include "tests/unit/compare/compare_runs_fixture.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

class CompareRunTimes : public CompareRunsTest {};

Record Timed(double seconds) {
  Record r = Passed("a");
  r.time_median_s = seconds;
  r.timing_clock = "host";
  for (int i = 0; i < 6; ++i) r.round_medians_s += (i == 0 ? "" : ",") + std::to_string(seconds * (1 + 1e-3 * i));
  return r;
}

TEST_F(CompareRunTimes, SlowerIsARegressionOnlyFromTheLimitOfThePolicy) {
  const Change slower = Only({Timed(0.1)}, {Timed(0.12)});
  EXPECT_EQ(slower.aspect, Aspect::kPerformance);
  EXPECT_NEAR(*slower.amount, 1.2, 1e-3);
  EXPECT_FALSE(slower.regression);
  EXPECT_THAT(comparison_.notes, Contains(HasSubstr("one after the other")));
  settings_.policy.SetDefault("slower_percent", 19.0);
  EXPECT_TRUE(Only({Timed(0.1)}, {Timed(0.12)}).regression);
  EXPECT_FALSE(Only({Timed(0.12)}, {Timed(0.1)}).regression);
  settings_.policy.SetDefault("slower_percent", 21.0);
  EXPECT_FALSE(Only({Timed(0.1)}, {Timed(0.12)}).regression);
}

TEST_F(CompareRunTimes, GroupsAreDecidedOnlyOfBuildsInTurnsAndRegressByOperator) {
  const auto timed = [](const std::string& op, int m, double seconds) {
    Record r = Timed(seconds);
    r.op = op, r.case_id = op + "/f32/m=" + std::to_string(m) + "/fill=normal/seed=0";
    r.round_medians_s += "," + std::to_string(seconds) + "," + std::to_string(seconds) + "," + std::to_string(seconds);
    return r;
  };
  const std::vector<Record> base{timed("fft", 1, 0.1), timed("fft", 2, 0.1), timed("conv", 1, 0.1)};
  const std::vector<Record> now{timed("fft", 1, 0.12), timed("fft", 2, 0.12), timed("conv", 1, 0.12)};
  settings_.policy.SetDefault("slower_percent", 10.0);
  Compare(base, now);
  EXPECT_TRUE(comparison_.groups.empty());
  settings_.same_rounds = true;
  Compare(base, now);
  ASSERT_EQ(comparison_.groups.size(), 2u);
  EXPECT_EQ(comparison_.groups[0].op, "");  // conv is a single result
  EXPECT_EQ(comparison_.groups[0].results, 3u);
  EXPECT_EQ(comparison_.groups[0].time.verdict, TimeVerdict::kSlower);
  EXPECT_FALSE(comparison_.groups[0].regression);
  EXPECT_EQ(comparison_.groups[1].op, "fft");
  EXPECT_TRUE(comparison_.groups[1].regression);
  EXPECT_EQ(comparison_.CountRegressedGroups(), 1u);
  Compare({base[0], base[1]}, {now[0], now[1]});
  ASSERT_EQ(comparison_.groups.size(), 1u);  // all that the backend has
  EXPECT_EQ(comparison_.groups[0].op, "fft");
}

TEST_F(CompareRunTimes, TimesOfOtherClocksDevicesHostsAndSuspectResultsSayNothing) {
  const auto verdict = [&](Record now) {
    Compare({Timed(0.1)}, {std::move(now)});
    return comparison_.results.at(0).time;
  };
  EXPECT_EQ(verdict(Timed(0.12)).verdict, TimeVerdict::kSlower);
  Record other = Timed(0.12);
  other.timing_clock = "device";
  EXPECT_THAT(verdict(other).why, HasSubstr("clock"));
  other = Timed(0.12);
  other.device = "E";
  EXPECT_THAT(verdict(other).why, HasSubstr("another name"));
  other = Timed(0.12);
  other.result_class = "suspect";
  EXPECT_EQ(verdict(other).verdict, TimeVerdict::kNotTimed);
  other.result_class = "within_class", other.verdict = "mismatch";
  EXPECT_EQ(verdict(other).verdict, TimeVerdict::kNotTimed);
  other = Timed(0.12);
  other.round_medians_s.clear();  // as written before there were rounds
  EXPECT_THAT(verdict(other).why, HasSubstr("single round"));
  const auto elsewhere = CompareRuns({"B", {Timed(0.1)}, true, "x"}, {"N", {Timed(0.12)}, true, "y"}, settings_);
  EXPECT_THAT(elsewhere->results.at(0).time.why, HasSubstr("the hosts differ"));
  const auto nowhere = CompareRuns({"B", {Timed(0.1)}, true, "x"}, {"N", {Timed(0.12)}, true, ""}, settings_);
  EXPECT_THAT(nowhere->results.at(0).time.why, HasSubstr("the host of one run is not known"));
}

// A time that passed because launches were allowed to take long may be one that the other run would have struck out.
TEST_F(CompareRunTimes, TimesThatWereBelievedByOtherRulesAreNotCompared) {
  using Launches = std::map<std::string, double>;
  const auto time = [&](const Launches& base, const Launches& now) {
    const auto compared =
        CompareRuns({"B", {Timed(0.1)}, true, "", "", base}, {"N", {Timed(0.12)}, true, "", "", now}, settings_);
    return compared->results.at(0).time;
  };
  const Launches usual, some = {{"gpu", 200}}, other = {{"cpu", 200}};
  EXPECT_EQ(time(some, some).verdict, TimeVerdict::kSlower);
  EXPECT_EQ(time(usual, other).verdict, TimeVerdict::kSlower);
  EXPECT_EQ(time(usual, some).verdict, TimeVerdict::kUnsure);
  EXPECT_THAT(time(usual, some).why, HasSubstr("by different --launch-us: none and 200"));
  EXPECT_THAT(time(some, {{"gpu", 300}}).why, HasSubstr("200 and 300"));
}

TEST_F(CompareRunTimes, ATimeThatCannotBeTrueIsNeitherFasterNorABase) {
  Record invalid = Timed(0.05);  // half of the base
  invalid.timing_invalid = "wall clock: 2 s of 1 s";
  const auto only = [&](Record base, Record now) {
    const Change change = Only({std::move(base)}, {std::move(now)});
    EXPECT_EQ(change.aspect, Aspect::kInvalidTime);
    EXPECT_FALSE(change.regression);
    const TimeComparison& time = comparison_.results.at(0).time;
    EXPECT_EQ(time.verdict, TimeVerdict::kInvalid);
    EXPECT_EQ(comparison_.TimesInvalid(), 1u);
    EXPECT_EQ(comparison_.TimesTested(), 0u);
    EXPECT_EQ(change.detail, time.why);
    return change;
  };
  const Change now = only(Timed(0.1), invalid);
  EXPECT_EQ(now.base + " " + now.now, "valid INVALID");
  EXPECT_EQ(now.detail, "new: wall clock: 2 s of 1 s");
  EXPECT_EQ(now.trend, Trend::kWorse);
  const Change base = only(invalid, Timed(0.1));
  EXPECT_EQ(base.trend, Trend::kBetter);
  EXPECT_EQ(base.detail, "base: wall clock: 2 s of 1 s");
  EXPECT_EQ(only(invalid, invalid).trend, Trend::kNeutral);
  Compare({Timed(0.1)}, {Timed(0.05)});
  EXPECT_EQ(comparison_.results.at(0).time.verdict, TimeVerdict::kFaster);
  EXPECT_EQ(comparison_.TimesInvalid(), 0u);
  invalid.implementation = "other";
  Compare({Timed(0.1)}, {Timed(0.1), invalid});
  EXPECT_EQ(comparison_.TimesInvalid(), 1u);  // also of a result that is new
}

TEST_F(CompareRunTimes, ATimeInDoubtMakesNothingWorseOrBetter) {
  Record doubted = Timed(0.05);
  doubted.timing_unsure = "the host was busy";
  for (const auto& [base, now] : {std::pair(Timed(0.1), doubted), std::pair(doubted, Timed(0.1))}) {
    Compare({base}, {now});
    EXPECT_EQ(comparison_.results.at(0).time.verdict, TimeVerdict::kUnsure);
    EXPECT_THAT(comparison_.results.at(0).time.why, HasSubstr("the host was busy"));
    EXPECT_EQ(comparison_.TimesInvalid() + comparison_.TimesTested(), 0u);
  }
}

}  // namespace
}  // namespace assay::test
