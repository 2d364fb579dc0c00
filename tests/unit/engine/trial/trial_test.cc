// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/trial.h"

#include <gmock/gmock.h>

#include "harness/engine/device/executions.h"
#include "tests/support/engine_fixture.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

class TrialOf : public EngineTest {
 protected:
  explicit TrialOf(const std::string& id = kSum) : EngineTest(id), context_(planned_, data_) {}

  Call<void> Run(const std::string& contract = "f32acc") {
    attempt_.implementation = "plain";
    attempt_.contract = ParseDeclaration(contract).value();
    const ContractData& by = context_.DataFor(attempt_.contract);
    const auto plan = PreparedPlan::Make(device_, data_.problem, "plain");
    return Trial(context_, device_, by, attempt_).Run(*plan, RelationEffort::kNone);
  }
  // The verdict where the calls of number `first` to `last` do it.
  Verdict VerdictWhere(const Deed& deed, int first, int last, const std::string& contract = "f32acc") {
    session_->behave = Doing(deed, [=](const FakeCall& call) {
      return call.what == Asked::kExecute && call.number >= first && call.number <= last;
    });
    EXPECT_TRUE(Run(contract));
    return attempt_.verdict;
  }
  std::vector<std::string> KeptLabels() const {
    std::vector<std::string> labels;
    for (const KeptOutputSet& kept : attempt_.kept) labels.push_back(kept.label);
    return labels;
  }

  TrialContext context_;
  Attempt attempt_;
};

// The first two executions are of the case's own inputs, the other two of its twins.
TEST_F(TrialOf, RightOutputsPass) {
  ASSERT_TRUE(Run());
  EXPECT_EQ(attempt_.verdict, Verdict::kPass) << attempt_.reason;
  const std::vector<FakeCall> executions = session_->CallsOf(Asked::kExecute);
  ASSERT_EQ(executions.size(), 4U);
  for (const FakeCall& call : executions) EXPECT_EQ(call.own, call.number < 2);
  const JudgeInputs& observed = attempt_.findings->outputs[0].observed;
  EXPECT_EQ(observed.runs.size(), 2U);
  EXPECT_EQ(observed.twins.size(), 2U);
  EXPECT_TRUE(observed.bits_equal);
  EXPECT_EQ(attempt_.output_hash, HashOf(attempt_.outputs));
  EXPECT_NE(attempt_.second_hash, "");
  EXPECT_TRUE(attempt_.kept.empty());
  EXPECT_EQ(attempt_.fastest_s, 0.001);
}

TEST_F(TrialOf, AWrongElementInBothRunsIsAMismatch) {
  EXPECT_EQ(VerdictWhere({.wrong = true}, 0, 1), Verdict::kMismatch);
  EXPECT_THAT(KeptLabels(), testing::ElementsAre("run1"));
}

TEST_F(TrialOf, AWrongElementInTheSecondRunAloneIsAMismatch) {
  EXPECT_EQ(VerdictWhere({.wrong = true}, 1, 1), Verdict::kMismatch);
  EXPECT_THAT(KeptLabels(), testing::ElementsAre("run2"));
}

TEST_F(TrialOf, AWrongElementInEitherTwinIsAMismatch) {
  for (const int twin : {0, 1}) {
    attempt_ = Attempt();
    session_->calls.clear();
    EXPECT_EQ(VerdictWhere({.wrong = true}, 2 + twin, 2 + twin), Verdict::kMismatch);
    EXPECT_THAT(KeptLabels(), testing::ElementsAre("twin" + std::to_string(twin)));
    EXPECT_EQ(attempt_.second_hash.empty(), twin == 0);
  }
}

TEST_F(TrialOf, AnElementThatKeepsThePrefillIsNamed) {
  EXPECT_EQ(VerdictWhere({.unwritten = true}, 0, 1), Verdict::kMismatch);
  EXPECT_THAT(attempt_.reason, HasSubstr("1 of 4 elements of y were not written"));
  EXPECT_TRUE(attempt_.memory_fault);
}

TEST_F(TrialOf, AStrayWriteInAnyRunIsAFaultOfMemory) {
  for (int number = 0; number < 4; ++number) {
    attempt_ = Attempt();
    session_->calls.clear();
    EXPECT_EQ(VerdictWhere({.stray_write = true}, number, number), Verdict::kMismatch) << number;
    EXPECT_THAT(attempt_.reason, HasSubstr("4 bytes behind y were written"));
    EXPECT_TRUE(attempt_.memory_fault);
  }
}

TEST_F(TrialOf, AChangedInputIsNamedOnce) {
  EXPECT_EQ(VerdictWhere({.changed_input = true}, 0, 3), Verdict::kMismatch);
  EXPECT_EQ(attempt_.findings->outputs[0].observed.changed_inputs.size(), 1U);
  EXPECT_TRUE(attempt_.memory_fault);
}

TEST_F(TrialOf, OtherBitsAreWrongOnlyWhereNonePromisedThem) {
  EXPECT_EQ(VerdictWhere({.other_bits = true}, 1, 1), Verdict::kPass) << attempt_.reason;
  EXPECT_FALSE(attempt_.findings->outputs[0].observed.bits_equal);
  attempt_ = Attempt();
  session_->calls.clear();
  EXPECT_EQ(VerdictWhere({.other_bits = true}, 1, 1, "f32acc; det=yes"), Verdict::kNondeterministic);
  EXPECT_THAT(KeptLabels(), testing::ElementsAre("run1", "run2"));
}

TEST_F(TrialOf, AWorkerThatEndsEndsTheTrial) {
  session_->behave = DoingAt({.fails = FailureKind::kTimeout}, Asked::kExecute, 2);
  const auto ran = Run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind, FailureKind::kTimeout);
  EXPECT_EQ(session_->CallsOf(Asked::kExecute).size(), 3U);
}

// A maximum has no coded sums: other data of the same case stand in for twins.
class TrialWithoutTwins : public TrialOf {
 protected:
  TrialWithoutTwins() : TrialOf("reduce/f32/shape=4x8,axes=1,kind=max/fill=normal/seed=0") {}
};

TEST_F(TrialWithoutTwins, RunsOtherData) {
  ASSERT_TRUE(Run("f32"));
  EXPECT_EQ(attempt_.verdict, Verdict::kPass) << attempt_.reason;
  EXPECT_THAT(attempt_.second_set, HasSubstr("seed=1"));
  EXPECT_FALSE(session_->CallsOf(Asked::kExecute).back().own);
}

TEST_F(TrialWithoutTwins, AnOldResultDoesNotPassForANewOne) {
  EXPECT_EQ(VerdictWhere({.stale = true}, 2, 2, "f32"), Verdict::kMismatch);
  EXPECT_THAT(attempt_.reason,
              testing::ContainsRegex("second input set, after passing with the first: on .*seed=1: bound "
                                     "channel: [0-9] beyond the bound, worst element \\[[0-9]\\] got "
                                     "[^ ]+, golden [^ ]+, error [^ ]+, tolerance 0; "));
  EXPECT_THAT(KeptLabels(), testing::ElementsAre("second"));
  EXPECT_EQ(attempt_.second_hash, "");
}

// Data that are a pattern have no statistic: normal deviates of the same shape are judged besides.
class TrialOfAPattern : public TrialOf {
 protected:
  TrialOfAPattern() : TrialOf("matmul/f32/m=4,n=4,k=16/fill=ramp/seed=0") {}
};

TEST_F(TrialOfAPattern, RunsRandomDataBesides) {
  ASSERT_TRUE(Run("f32"));
  EXPECT_EQ(attempt_.verdict, Verdict::kPass) << attempt_.reason;
  const std::vector<FakeCall> executions = session_->CallsOf(Asked::kExecute);
  ASSERT_EQ(executions.size(), 5U);  // two of its own, two twins
  EXPECT_FALSE(executions.back().own);
  const JudgeInputs& observed = attempt_.findings->outputs[0].observed;
  EXPECT_FALSE(observed.runs[0].statistic.applicable);
  ASSERT_TRUE(observed.random);
  EXPECT_TRUE(observed.random->statistic.applicable);
  EXPECT_TRUE(attempt_.findings->outputs[0].decision.stat_margin);
}

TEST_F(TrialOfAPattern, IsAMismatchWhereRandomDataAloneShowIt) {
  EXPECT_EQ(VerdictWhere({.wrong = true}, 4, 4, "f32"), Verdict::kMismatch);
  EXPECT_THAT(attempt_.reason, HasSubstr("on matmul/f32/m=4,n=4,k=16/fill=normal/seed=0: bound channel"));
  EXPECT_THAT(KeptLabels(), testing::ElementsAre("random"));
  EXPECT_EQ(context_.InputsOf(attempt_, attempt_.kept[0]).data(), context_.RandomSet().inputs.data());
}

TEST_F(TrialOf, PlainDataNeedNoOthers) {
  ASSERT_TRUE(Run());
  EXPECT_FALSE(attempt_.findings->outputs[0].observed.random);
}

}  // namespace
}  // namespace assay::test
