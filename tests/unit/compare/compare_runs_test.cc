// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/compare_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/compare/compare_runs_fixture.h"

namespace assay::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

Record Without(const std::string& verdict) {
  Record r = Passed("");
  r.verdict = r.outcome = verdict;
  r.result_class = "", r.reason = "because";
  return r;
}

// The worst of several outputs may be another one: each is held against itself.
TEST_F(CompareRunsTest, MarginsOfSeveralOutputsAreComparedOneByOne) {
  const auto with = [](double y, double mean) {
    Record r = Passed("a");
    r.outputs.resize(2);
    r.outputs[0].name = "y", r.outputs[0].bound_margin = y;
    r.outputs[1].name = "mean", r.outputs[1].bound_margin = mean;
    r.worst_output = y >= mean ? "y" : "mean";
    r.bound_margin = std::max(y, mean);
    return r;
  };
  settings_.policy.SetDefault("margin_growth", 2.0);
  const Change change = Only({with(0.3, 0.1)}, {with(0.3, 0.9)});
  EXPECT_EQ(change.field, "mean.bound_margin");
  EXPECT_TRUE(change.regression);
}

TEST_F(CompareRunsTest, EqualRunsHaveNoChange) {
  EXPECT_THAT(
      Compare({Passed("a"), Passed("b"), Without("unsupported")}, {Passed("a"), Passed("b"), Without("unsupported")}),
      testing::IsEmpty());
  EXPECT_EQ(comparison_.Regressions(), 0u);
}

TEST_F(CompareRunsTest, AWorseOutcomeIsARegressionUnlessAnExpectationCoversIt) {
  const auto with = [](const char* outcome) {
    Record r = Passed("a");
    r.outcome = outcome;
    return r;
  };
  for (const char* worse :
       {"inconclusive", "below_contract", "nondeterministic", "mismatch", "error", "timeout", "crash"}) {
    const Change change = OnlyWith(with(worse));
    EXPECT_EQ(change.aspect, Aspect::kVerdict);
    EXPECT_TRUE(change.regression) << worse;
    EXPECT_FALSE(Only({with(worse)}, {Passed("a")}).regression) << worse;
  }
  EXPECT_FALSE(OnlyWith(with("known_failure")).regression);
  EXPECT_TRUE(Only({with("known_failure")}, {with("mismatch")}).regression);
  EXPECT_EQ(Only({with("known_failure")}, {with("unexpected_pass")}).trend, Trend::kBetter);
  EXPECT_TRUE(Only({with("mismatch")}, {with("crash")}).regression);
  settings_.policy.SetDefault("verdict_worse", 0.0);
  EXPECT_FALSE(OnlyWith(with("crash")).regression);
}

TEST_F(CompareRunsTest, SupportThatIsLostIsARegression) {
  for (const char* verdict : {"unsupported", "unavailable"}) {
    const Change change = OnlyWith(Without(verdict));
    EXPECT_EQ(change.aspect, Aspect::kSupport);
    EXPECT_TRUE(change.regression);
    EXPECT_EQ(change.detail, "because");
  }
  const Change dropped = Only({Passed("a"), Passed("b")}, {Passed("a")});
  EXPECT_EQ(dropped.aspect, Aspect::kSupport);
  EXPECT_EQ(dropped.now, "not offered");
  EXPECT_TRUE(dropped.regression);
  const Change gained = Only({Passed("a"), Without("unsupported")}, {Passed("a"), Passed("b")});
  EXPECT_EQ(gained.aspect, Aspect::kSupport);
  EXPECT_EQ(gained.trend, Trend::kBetter);
}

TEST_F(CompareRunsTest, AnImplementationWithoutARecordIsLostWhereOffersAreNotKnown) {
  auto result =
      CompareRuns({"base", {Passed("a"), Passed("b")}, true, ""}, {"new", {Passed("a")}, false, ""}, settings_);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->Regressions(), 0u);
  EXPECT_EQ(result->Incomplete(), 1u);
}

TEST_F(CompareRunsTest, WhatHasNoRecordIsLostAndMakesTheComparisonIncomplete) {
  const std::string other = "matmul/f32/m=2/fill=normal/seed=0";
  for (const auto& now : {std::vector<Record>{Passed("a")}, {Passed("a"), [&] {
                                                               Record r = Without("missing");
                                                               r.case_id = other;
                                                               return r;
                                                             }()}}) {
    const Change change = Only({Passed("a"), Passed("a", other)}, now);
    EXPECT_EQ(change.aspect, Aspect::kLost);
    EXPECT_FALSE(change.regression);
    EXPECT_EQ(comparison_.Incomplete(), 1u);
  }
  settings_.policy.SetDefault("lost_results", 0.0);
  EXPECT_FALSE(Only({Passed("a"), Passed("a", other)}, {Passed("a")}).incomplete);
}

TEST_F(CompareRunsTest, ResultsOfAnOperatorWhoseDefinitionDiffersAreNotCompared) {
  RunToCompare base{"base", {Passed("a")}, true, ""}, now{"new", {Passed("a")}, true, ""};
  now.records[0].outcome = now.records[0].verdict = "mismatch";
  base.definitions = {{"matmul", "1"}, {"other", "1"}};
  for (const bool is_other : {false, true}) {
    now.definitions = {{"matmul", is_other ? "2" : "1"}};
    const auto result = CompareRuns(base, now, settings_);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->Regressions(), is_other ? 0u : 1u);
    EXPECT_EQ(result->Incomplete(), is_other ? 1u : 0u);
    EXPECT_EQ(result->notes.size(), is_other ? 1u : 0u);
  }
}

TEST_F(CompareRunsTest, ACaseThatRanNowhereFailsEveryResultOfIt) {
  Record broken = Without("error");
  broken.backend = "assay", broken.device = "";
  const std::string other = "matmul/f32/m=2/fill=normal/seed=0";
  const auto changes = Compare({Passed("a"), Passed("b"), Passed("a", other)}, {broken, Passed("a", other)});
  size_t failed = 0;
  for (const Change& c : changes) failed += c.aspect == Aspect::kVerdict && c.regression && c.detail == "because";
  EXPECT_EQ(failed, 2u);
}

TEST_F(CompareRunsTest, ANewFailureIsReportedAndFailsOnlyWhereThePolicySaysSo) {
  Record failing = Passed("b");
  failing.verdict = failing.outcome = "mismatch";
  const Change change = Only({Passed("a")}, {Passed("a"), failing});
  EXPECT_EQ(change.aspect, Aspect::kNew);
  EXPECT_EQ(change.trend, Trend::kWorse);
  EXPECT_FALSE(change.regression);
  // It said that it could not; now it does so wrongly.
  EXPECT_TRUE(Only({Passed("a"), Without("unsupported")}, {Passed("a"), failing}).regression);
  settings_.policy.SetDefault("new_failure", 1.0);
  EXPECT_TRUE(Only({Passed("a")}, {Passed("a"), failing}).regression);
}

TEST_F(CompareRunsTest, MarginsAreReportedFromTenPercentAndFailByTheFactorOfThePolicy) {
  const auto margin = [](double m) {
    Record r = Passed("a");
    r.bound_margin = m;
    return r;
  };
  EXPECT_THAT(Compare({margin(0.1)}, {margin(0.109)}), testing::IsEmpty());
  EXPECT_THAT(Compare({margin(1e-5)}, {margin(9e-4)}), testing::IsEmpty());  // both below the floor
  const Change grown = OnlyWith(margin(0.2));
  EXPECT_EQ(grown.field, "bound_margin");
  EXPECT_NEAR(*grown.amount, 2, 1e-12);
  EXPECT_FALSE(grown.regression);
  settings_.policy.SetDefault("margin_growth", 1.9);
  EXPECT_TRUE(OnlyWith(margin(0.2)).regression);
  EXPECT_FALSE(OnlyWith(margin(0.18)).regression);
  EXPECT_FALSE(OnlyWith(margin(0.02)).regression);
  const Change from_exact = Only({margin(0)}, {margin(0.2)});
  EXPECT_TRUE(from_exact.regression);
  EXPECT_TRUE(std::isinf(*from_exact.amount));
  Record without = Passed("a");
  without.stat_margin.reset();
  EXPECT_THAT(OnlyWith(without).detail, HasSubstr("does not apply any more"));
}

TEST_F(CompareRunsTest, EffectiveBitsAndOutputBits) {
  Record narrow = Passed("a");
  narrow.effective_bits = 11.5;
  narrow.output_hash = "p";
  auto changes = Compare({Passed("a")}, {narrow});
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].aspect, Aspect::kEffectiveBits);
  EXPECT_NEAR(*changes[0].amount, -11.5, 1e-12);
  EXPECT_EQ(changes[1].aspect, Aspect::kBits);
  EXPECT_FALSE(changes[0].regression || changes[1].regression);
  settings_.policy.SetDefault("effective_bits_lost", 11.5);
  settings_.policy.SetDefault("bits_changed", 1.0);
  changes = Compare({Passed("a")}, {narrow});
  EXPECT_TRUE(changes[0].regression && changes[1].regression);
  settings_.policy.SetDefault("effective_bits_lost", 12.0);
  EXPECT_FALSE(Compare({Passed("a")}, {narrow})[0].regression);
  narrow.effective_bits = 23.0;
  narrow.deterministic = false;  // its bits change by themselves
  for (const Change& c : Compare({Passed("a")}, {narrow})) EXPECT_NE(c.aspect, Aspect::kBits);
}

TEST_F(CompareRunsTest, OtherInputsAreSaidAndTheirBitsNotCompared) {
  Record other = Passed("a");
  other.input_hash = "j", other.output_hash = "p", other.bound_margin = 0.9;
  const Change change = OnlyWith(other);
  EXPECT_EQ(change.field, "input_hash");
  EXPECT_THAT(change.detail, HasSubstr("the inputs differ"));
}

TEST_F(CompareRunsTest, ASampleThatPassesIsNotBetterThanAWholeThatFailed) {
  Record failed = Passed("a"), sampled = Passed("a");
  failed.outcome = failed.verdict = "mismatch";
  sampled.sample_judged = 64, sampled.sample_elements = 3500, sampled.sample_seed = 7, sampled.bound_margin = 0.9;
  const Change change = OnlyWith(sampled);
  EXPECT_EQ(change.field, "sample_judged");
  EXPECT_EQ(change.base, "all");
  EXPECT_EQ(change.now, "64");
  const std::vector<Change> changes = Compare({failed}, {sampled});
  ASSERT_EQ(changes.size(), 2U);
  for (const Change& each : changes) EXPECT_EQ(each.trend, Trend::kNeutral) << each.field;
  EXPECT_EQ(Compare({sampled}, {failed}).front().trend, Trend::kWorse);
}

TEST_F(CompareRunsTest, TheOnlyDeviceOfABackendIsTheSameOneUnderANewName) {
  Record renamed = Passed("a");
  renamed.device = "D (driver 2)";
  EXPECT_THAT(Compare({Passed("a")}, {renamed}), testing::IsEmpty());
  EXPECT_THAT(comparison_.notes, Contains(HasSubstr("gpu: 'D' -> 'D (driver 2)'")));
  Record second = Passed("a");
  second.device = "E";
  EXPECT_EQ(Compare({Passed("a"), second}, {Passed("a")}).at(0).aspect, Aspect::kLost);
}

TEST_F(CompareRunsTest, TwoDevicesOfOneNameAreComparedInTheirOrder) {
  Record bad = Passed("a");
  bad.outcome = "mismatch";
  EXPECT_TRUE(Only({Passed("a"), Passed("a")}, {Passed("a"), bad}).regression);
}

// A record like those of `assay check --json`: one shape, no implementation, other data.
Record Checked(const std::string& inputs, const std::string& outcome) {
  Record r = Passed("");
  r.backend = "user", r.device = "", r.input_hash = inputs;
  r.verdict = r.outcome = outcome;
  return r;
}

TEST_F(CompareRunsTest, EachOfSeveralRecordsOfOneKeyIsCompared) {
  const Record good = Checked("i", "pass"), good_too = Checked("j", "pass");
  const Record bad = Checked("i", "mismatch"), bad_too = Checked("j", "mismatch");
  EXPECT_TRUE(Only({good, good_too}, {bad, good_too}).regression);
  EXPECT_THAT(comparison_.notes, Contains(HasSubstr("several records have the same case, backend, device and "
                                                    "implementation (1 such, the first matmul/f32/m=1")));
  EXPECT_TRUE(Only({good, good_too}, {good, bad_too}).regression);
  EXPECT_EQ(comparison_.results.size(), 2u);
  EXPECT_THAT(Compare({good, good_too}, {good_too, good}), testing::IsEmpty());
  EXPECT_TRUE(Only({good, good_too}, {good_too, bad}).regression) << "equal inputs belong together, not equal places";
  EXPECT_TRUE(Only({good}, {good, bad}).regression) << "a second result of the same data";
  EXPECT_TRUE(Only({good}, {bad, good}).regression);
  EXPECT_EQ(Only({good}, {good, bad_too}).aspect, Aspect::kNew);
  EXPECT_EQ(Only({good, good_too}, {good}).aspect, Aspect::kLost);
  Compare({good}, {good});
  EXPECT_THAT(comparison_.notes, testing::IsEmpty());
}

TEST_F(CompareRunsTest, VersionsThatChangedAreNoted) {
  Record now = Passed("a");
  now.library_version = "3.1";
  Record base = Passed("a");
  base.library_version = "2.6";
  Compare({base}, {now});
  EXPECT_THAT(comparison_.notes, Contains("gpu library: 2.6 -> 3.1"));
}

TEST_F(CompareRunsTest, NothingInCommonAndOtherSchemasAreErrors) {
  const auto error = [&](Record now) {
    const auto result = CompareRuns({"B", {Passed("a")}, true, ""}, {"N", {std::move(now)}, true, ""}, settings_);
    return result ? std::string("no error") : result.error().message;
  };
  EXPECT_THAT(error(Passed("a", "matmul/f32/m=9/fill=normal/seed=0")), HasSubstr("no result in common"));
  EXPECT_THAT(error(Passed("b")), HasSubstr("no result in common"));
  Record unsupported = Passed("b", "matmul/f32/m=9/fill=normal/seed=0");
  unsupported.implementation = "";
  EXPECT_THAT(error(unsupported), HasSubstr("implementations none\nCompare"));
  Record older = Passed("a");
  older.schema_version = 0;
  EXPECT_THAT(error(older), HasSubstr("schema versions 0 and 1"));
}

}  // namespace
}  // namespace assay::test
