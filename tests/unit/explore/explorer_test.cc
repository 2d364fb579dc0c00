// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explore/explorer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "harness/core/base/whole_file.h"
#include "harness/plan/catalog.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/quiet_observer.h"
#include "tests/unit/temporary_folder.h"

namespace assay::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const Operator& Matmul() {
  return *OperatorRegistry::Global().Find("matmul");
}

int64_t Rows(const std::string& id) {
  const CaseSpec spec = ParseId(id).value();
  return AttrReader(spec, Matmul().schema()).Int("m");
}

// A device that multiplies f32 matrices, honestly but for what a test tells it.
class Exploring : public testing::Test {
 protected:
  Exploring() {
    settings_.ops = {&Matmul()};
    settings_.seed = 7;
    settings_.limits = {.elements = 2048, .flops = 1e5};
    settings_.cases = 40;
    settings_.is_time_over = [] { return false; };
    loop_.runner = QuietSettings();
    loop_.runner.interrupted = [this] { return interrupted_; };
    loop_.tier = "auto";
    loop_.observer = &observer_;
    session_->offer = [](const Problem& problem, const LayoutVariant&) {
      const bool takes = problem.outputs[0].dtype == DType::kF32;
      return takes ? std::vector<ImplementationInfo>{{"plain", "f32acc"}} : std::vector<ImplementationInfo>();
    };
  }

  LoopResult Explore() {
    static int runs = 0;
    path_ = temporary_.Path("run" + std::to_string(++runs));
    RunFolder folder = RunFolder::Create(path_).value();
    const std::vector<Device> devices = {FakeDevice("fake", session_)};
    Explorer explorer(settings_, devices, loop_, folder);
    LoopResult result = RunCases(explorer, devices, loop_, folder);
    explored_ = explorer.CountRan(result.records);
    failures_ = explorer.failures();
    return result;
  }
  static std::vector<std::string> Ids(const LoopResult& result) {
    std::vector<std::string> ids;
    for (const Record& record : result.records) ids.push_back(record.case_id);
    return ids;
  }
  std::string Suite() const { return ReadStream(std::filesystem::path(path_) / kFailuresSuite).value_or(""); }

  const TemporaryFolder temporary_;
  std::string path_;
  ExploreSettings settings_;
  RunPolicy loop_;
  QuietObserver observer_;
  bool interrupted_ = false;
  std::shared_ptr<FakeSession> session_ = std::make_shared<FakeSession>();
  size_t explored_ = 0, failures_ = 0;
};

TEST_F(Exploring, RunsAsManyCasesAsItWasAskedForAndFindsNothingInAnHonestDevice) {
  const LoopResult result = Explore();
  EXPECT_EQ(explored_, 40u);
  EXPECT_EQ(result.records.size(), 40u);
  EXPECT_EQ(failures_, 0u);
  EXPECT_THAT(observer_.failed, IsEmpty());
  EXPECT_EQ(Suite(), "");
}

TEST_F(Exploring, TheSameSeedGivesTheSameCasesAndALongerRunBeginsWithThem) {
  const std::vector<std::string> ids = Ids(Explore());
  EXPECT_EQ(Ids(Explore()), ids);
  settings_.cases = 60;
  std::vector<std::string> longer = Ids(Explore());
  longer.resize(ids.size());
  EXPECT_EQ(longer, ids);
}

TEST_F(Exploring, AFaultOfOddRowsIsFoundAndMadeSmall) {
  session_->behave = Doing({.wrong = true}, [](const FakeCall& call) {
    return call.what == Asked::kExecute && Rows(call.case_id) % 2 == 1 && Rows(call.case_id) > 2;
  });
  const LoopResult result = Explore();
  EXPECT_GT(failures_, 0u);
  const auto cases = LoadSuite(std::filesystem::path(path_) / kFailuresSuite, Catalog());
  ASSERT_TRUE(cases) << cases.error().message;
  ASSERT_FALSE(cases->empty());
  EXPECT_TRUE(std::ranges::any_of(*cases, [](const PlannedCase& c) { return Rows(c.spec.Id()) == 3; })) << Suite();
  for (const PlannedCase& planned : *cases) {
    const std::string id = planned.spec.Id();
    EXPECT_EQ(Rows(id) % 2, 1) << id;
    // Whatever stands there has a record of its own failure.
    const auto record = std::ranges::find(result.records, id, &Record::case_id);
    ASSERT_NE(record, result.records.end()) << id;
    EXPECT_EQ(record->verdict, "mismatch") << id;
    EXPECT_THAT(record->reproduce, HasSubstr(id));
  }
  EXPECT_THAT(Suite(), HasSubstr("# found with matmul/"));
}

// --impl: such a case leaves no record, and the same number of cases must give the same ones again.
TEST_F(Exploring, CasesThatNoChosenImplementationTakesHaveRun) {
  session_->offer = [](const Problem& problem, const LayoutVariant&) {
    return std::vector<ImplementationInfo>{{Rows(problem.spec.Id()) % 2 == 0 ? "plain" : "other", "f32acc"}};
  };
  loop_.runner.implementations = {"plain"};
  const LoopResult result = Explore();
  EXPECT_EQ(explored_, 40u);
  EXPECT_GT(result.records.size(), 0u);
  EXPECT_LT(result.records.size(), 40u);
}

TEST_F(Exploring, ASuspectIsAFailureWithStrictAlone) {
  for (const bool strict : {false, true}) {
    settings_.strict = strict;
    path_ = temporary_.Path(strict ? "strict" : "usual");
    RunFolder folder = RunFolder::Create(path_).value();
    const std::vector<Device> devices = {FakeDevice("fake", session_)};
    Explorer explorer(settings_, devices, loop_, folder);
    const std::vector<std::string> ids = {explorer.Next()[0].spec.Id()};
    Record record;
    record.case_id = ids[0], record.backend = "fake", record.implementation = "plain", record.reason = "unlike others";
    record.verdict = record.outcome = Name(Verdict::kPass);
    record.result_class = Name(ResultClass::kSuspect);
    explorer.Judged(ids, std::span(&record, 1), PoolHealth(devices, 0));
    EXPECT_EQ(explorer.failures(), strict ? 1u : 0u);
    EXPECT_EQ(explorer.saved(), strict ? 1u : 0u);
    if (strict) {
      EXPECT_THAT(Suite(), HasSubstr("suspect of fake:plain: unlike others"));
    }
  }
}

TEST_F(Exploring, EveryImplementationThatFailsACaseIsNamed) {
  settings_.cases = 8;
  session_->offer = Offering({{"plain", "f32acc"}, {"other", "f32acc"}});
  session_->behave =
      Doing({.fails = FailureKind::kTimeout}, [](const FakeCall& call) {  // which stays as large as it is
        return call.what == Asked::kExecute;
      });
  Explore();
  EXPECT_THAT(Suite(), HasSubstr("timeout of fake:plain"));
  EXPECT_THAT(Suite(), HasSubstr("timeout of fake:other"));
  EXPECT_THAT(Suite(), Not(HasSubstr("suspect the case")));  // a timeout says nothing of it
}

TEST_F(Exploring, ACaseThatAllOfSeveralGetWrongIsSuspected) {
  settings_.cases = 8;
  settings_.dtypes = {"f32"};
  const std::vector<ImplementationInfo> both = {{"plain", "f32acc"}, {"other", "f32acc"}}, one = {both[0]};
  const auto suite = [&](const std::vector<ImplementationInfo>& offered, bool all_wrong) {
    session_->offer = Offering(offered);
    session_->behave = Doing({.wrong = true}, [=](const FakeCall& call) {
      return call.what == Asked::kExecute && (all_wrong || call.implementation == "plain");
    });
    Explore();
    EXPECT_THAT(Suite(), HasSubstr("mismatch of fake:plain"));
    return Suite();
  };
  EXPECT_THAT(suite(both, true), HasSubstr("\n# all 2 implementations fail: suspect the case"));
  EXPECT_THAT(suite(both, false), Not(HasSubstr("suspect the case")));
  EXPECT_THAT(suite(one, true), Not(HasSubstr("suspect the case")));
}

TEST_F(Exploring, CasesAreOfTheTypesAskedForAlone) {
  settings_.dtypes = {"f32"};
  const LoopResult result = Explore();
  EXPECT_EQ(result.records.size(), 40u);
  for (const Record& record : result.records) {
    const auto types = ParseId(record.case_id).value().dtypes;
    EXPECT_THAT(types, testing::Contains(DType::kF32)) << record.case_id;
  }
}

// A smaller case might pass the next time, and nobody would know of what.
TEST_F(Exploring, WhatFailsOnlyAfterPassingStaysAsItIs) {
  loop_.runner.repetitions = 40;
  session_->cheat = Cheat::kSkips;
  const LoopResult result = Explore();
  EXPECT_GT(failures_, 0u);
  EXPECT_THAT(Suite(), HasSubstr("in repeated executions"));
  EXPECT_THAT(Suite(), Not(HasSubstr("# found with")));
  EXPECT_EQ(result.records.size(), 40u);
}

TEST_F(Exploring, ACrashIsMadeSmallAndTheRunGoesOn) {
  settings_.cases = 24;
  session_->behave = Doing({.fails = FailureKind::kCrash}, [](const FakeCall& call) {
    return call.what == Asked::kExecute && Rows(call.case_id) >= 16;
  });
  const LoopResult result = Explore();
  EXPECT_EQ(explored_, 24u);
  EXPECT_THAT(Suite(), HasSubstr("crash of fake:plain"));
  EXPECT_TRUE(std::ranges::any_of(result.records, [](const Record& r) { return Rows(r.case_id) == 16; })) << Suite();
}

TEST_F(Exploring, WhatAnExpectationExplainsIsNoFailure) {
  session_->behave = Doing({.wrong = true}, [](const FakeCall& call) { return call.what == Asked::kExecute; });
  loop_.expectations = ParseExpectations(
                           "[[known_flake]]\nid = 'a'\nbackend = 'fake'\nverdicts = ['mismatch', 'below_contract']\n"
                           "reason = 'it is wrong'",
                           "rules", Catalog())
                           .value()
                           .rules;
  Explore();
  EXPECT_EQ(failures_, 0u);
  EXPECT_EQ(Suite(), "");
}

TEST_F(Exploring, AnInterruptEndsItAndKeepsWhatIsThere) {
  session_->behave = [&](const FakeCall& call) {
    interrupted_ = interrupted_ || (call.what == Asked::kExecute && session_->CallsOf(Asked::kPrepare).size() > 12);
    return Deed();
  };
  const LoopResult result = Explore();
  EXPECT_TRUE(result.interrupted);
  EXPECT_GT(result.records.size(), 0u);
  EXPECT_LT(result.records.size(), 40u);
  EXPECT_EQ(explored_, result.records.size());
}

TEST_F(Exploring, LongRunsKeepNoMorePassesThanAskedFor) {
  loop_.most_passes = 10;
  session_->behave = Doing({.wrong = true}, [](const FakeCall& call) {
    return call.what == Asked::kExecute && Rows(call.case_id) % 8 == 1;
  });
  const LoopResult result = Explore();
  const auto failed = [](const Record& record) { return record.verdict == "mismatch"; };
  EXPECT_EQ(std::ranges::count_if(result.records, std::not_fn(failed)), 10);
  EXPECT_GT(std::ranges::count_if(result.records, failed), 0);
  EXPECT_GT(result.forgotten, 0u);
  EXPECT_GE(result.forgotten + result.records.size(), explored_);  // and what was made smaller
  EXPECT_LE(result.forgotten + result.records.size(), explored_ + failures_);
}

// Two devices that share the cases, and results that a test makes up.
class ExploringAPool : public Exploring {
 protected:
  // Takes `cases` more cases of f32 matrices and reports a mismatch of the device for each.
  void Fail(int cases, size_t device) {
    for (int i = 0; i < cases;) {
      ASSERT_FALSE(given_.empty() && (given_ = explorer_.Next()).empty());
      const CaseSpec spec = std::exchange(given_.back(), {}).spec;
      given_.pop_back();
      Record record;
      record.case_id = spec.Id(), record.backend = "fake", record.implementation = "plain";
      record.device = devices_[device].device.name;
      record.verdict = record.outcome = Name(Verdict::kMismatch);
      if (DTypeListText(spec.dtypes) != "f32" || Rows(record.case_id) < 4) continue;
      explorer_.Judged(std::span(&record.case_id, 1), std::span(&record, 1), health_);
      ++i;
    }
  }
  size_t CountSaid(const std::string& text) const {
    const std::string suite = Suite();
    size_t count = 0;
    for (size_t at = suite.find(text); at != suite.npos; at = suite.find(text, at + 1)) ++count;
    return count;
  }

  static Device Pooled(const std::string& name, std::shared_ptr<FakeSession> session) {
    Device device = FakeDevice("fake", std::move(session));
    device.device.name = name;
    device.pool = "fake";
    return device;
  }
  static ExploreSettings WithMany(ExploreSettings settings) {
    settings.cases = 400;
    settings.dtypes = {"f32"};
    return settings;
  }
  static Deed Wrong(const FakeCall& call) { return {.wrong = call.what == Asked::kExecute}; }

  const std::shared_ptr<FakeSession> other_ = std::make_shared<FakeSession>();
  const std::vector<Device> devices_ = {Pooled("fake #0", session_), Pooled("fake #1", other_)};
  RunFolder folder_ = RunFolder::Create(path_ = temporary_.Path("pool")).value();
  PoolHealth health_{devices_, 1};
  Explorer explorer_{WithMany(settings_), devices_, loop_, folder_};
  std::vector<PlannedCase> given_;
};

TEST_F(ExploringAPool, ASickDeviceLeavesToTheOtherWhatIsMadeSmaller) {
  other_->behave = Wrong;
  Fail(6, 1);
  EXPECT_EQ(CountSaid("# passes on fake #0\n"), 6u) << Suite();
  EXPECT_EQ(CountSaid("# found with"), 0u);
  session_->behave = Wrong;
  Fail(1, 0);
  EXPECT_EQ(CountSaid("# found with"), 1u) << Suite();
}

TEST_F(ExploringAPool, NoSickDeviceHasTheOtherAskedForEver) {
  other_->behave = Wrong;
  Fail(24, 1);
  EXPECT_EQ(CountSaid("# passes on fake #0\n"), 20u);
  EXPECT_EQ(CountSaid("# found with"), 0u);
  EXPECT_EQ(explorer_.saved(), 24u);
}

TEST_F(ExploringAPool, WhatDoesNotFailAgainIsNoFaultOfTheDevice) {
  Fail(1, 1);
  EXPECT_THAT(session_->CallsOf(Asked::kExecute), Not(IsEmpty()));
  EXPECT_THAT(Suite(), HasSubstr("# mismatch of fake:plain"));
  EXPECT_THAT(Suite(), Not(HasSubstr("passes on")));
}

TEST_F(ExploringAPool, OneThatWasSetAsideIsNotAsked) {
  other_->behave = Wrong;
  health_.Note(0, "matmul", "it hung");
  Fail(1, 1);
  EXPECT_THAT(session_->calls, IsEmpty());
  EXPECT_EQ(CountSaid("# found with"), 1u) << Suite();
}

}  // namespace
}  // namespace assay::test
