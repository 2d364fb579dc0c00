// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/engine/trial/trial_runner.h"
#include "tests/support/engine_fixture.h"

namespace assay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CaseRunnerOf : public EngineTest {
 protected:
  std::vector<std::string> VerdictsOfAll() {
    std::vector<std::string> texts;
    for (const Attempt& attempt : JudgeAll()) {
      texts.push_back(attempt.implementation + " " + std::string(Name(attempt.verdict)));
    }
    return texts;
  }
};

TEST_F(CaseRunnerOf, ARightResultPassesAndItsRecordSaysSo) {
  const Attempt attempt = Judge();
  EXPECT_EQ(attempt.verdict, Verdict::kPass) << attempt.reason;
  const Record& record = attempt.record;
  EXPECT_EQ(record.case_id, planned_.spec.Id());
  EXPECT_EQ(record.backend, "fake");
  EXPECT_EQ(record.device, "fake device");
  EXPECT_EQ(record.implementation, "plain");
  EXPECT_EQ(record.contract, attempt.contract_text);
  EXPECT_EQ(record.verdict, "pass");
  EXPECT_EQ(record.reps, 2);
  EXPECT_EQ(record.twin, true);
  EXPECT_EQ(record.output_hash, attempt.output_hash);
  EXPECT_EQ(record.prepare_s, 0.25);
  EXPECT_THAT(record.reproduce, HasSubstr("--impl plain"));
  EXPECT_FALSE(attempt.findings);
  ExpectNoPlanLeft();
}

TEST_F(CaseRunnerOf, RelationsOfARightResultHold) {
  settings_.relations = RelationEffort::kQuick;
  const Attempt attempt = Judge();
  EXPECT_EQ(attempt.verdict, Verdict::kPass) << attempt.reason;
  EXPECT_THAT(attempt.record.properties, HasSubstr("repeat=yes"));
  ExpectNoPlanLeft();
}

// The first repetition after four executions of its own and its twins' inputs.
TEST_F(CaseRunnerOf, AWorkerThatEndsInARelationIsNamedWithIt) {
  settings_.relations = RelationEffort::kQuick;
  session_->behave = Doing({.fails = FailureKind::kCrash}, [](const FakeCall& call) {
    return call.what == Asked::kExecute && call.case_id == kSum && call.number == 4 && !call.padded;
  });
  const Attempt attempt = Judge();
  EXPECT_EQ(attempt.verdict, Verdict::kCrash);
  EXPECT_THAT(attempt.reason, HasSubstr("in the relation '"));
  ExpectNoPlanLeft();
}

// It hides where what lay there is NaN or negative.
TEST_F(CaseRunnerOf, AMaximumWithWhatLayThereShowsWithAPositiveNumber) {
  for (const char* id :
       {kSum, "reduce/f32/shape=5x9,axes=1,kind=max/fill=normal/seed=0",
        "reduce/f32/shape=5x9,axes=1,kind=max/fill=special/seed=0",
        "reduce/f32/shape=1,axes=0,kind=max/fill=normal/seed=0", "softmax/f32/shape=5x9/fill=normal/seed=0"}) {
    planned_ = Planned(id);
    data_ = DataOf(planned_);
    session_->behave = Doing({.keeps_larger = true}, [](const FakeCall& call) { return call.what == Asked::kExecute; });
    EXPECT_EQ(Judge().verdict, Verdict::kMismatch) << id;
  }
}

TEST_F(CaseRunnerOf, EachImplementationIsJudgedInTheOrderOfItsOffer) {
  session_->offer = Offering({{"second", "f32acc"}, {"first", "f32"}, {"third", "f32acc"}});
  session_->behave = Doing({.wrong = true}, [](const FakeCall& call) { return call.implementation == "first"; });
  EXPECT_THAT(VerdictsOfAll(), ElementsAre("second pass", "first mismatch", "third pass"));
  ExpectNoPlanLeft();
}

TEST_F(CaseRunnerOf, NamesAreHandedOutBeforeAnythingRuns) {
  session_->offer = Offering({{"a", "f32acc"}, {"b", "f32acc"}});
  std::vector<std::string> names;
  TrialRunner(planned_, data_, settings_)
      .Judge(
          device_, [](const Attempt&) {},
          [&](const auto& offered) {
            names = offered;
            EXPECT_TRUE(session_->CallsOf(Asked::kPrepare).empty());
          });
  EXPECT_THAT(names, ElementsAre("a", "b"));
}

TEST_F(CaseRunnerOf, OthersThanTheWantedAreLeftOut) {
  session_->offer = Offering({{"a", "f32acc"}, {"b", "f32acc"}});
  settings_.implementations = {"b", "c"};
  EXPECT_THAT(VerdictsOfAll(), ElementsAre("b pass"));
}

TEST_F(CaseRunnerOf, ADeviceThatIsNotThereIsNotAsked) {
  device_.problem = "no driver";
  device_.problem_kind = FailureKind::kNoPlugin;
  device_.session = nullptr;
  const Attempt attempt = Judge();
  EXPECT_EQ(attempt.verdict, Verdict::kError);
  EXPECT_EQ(attempt.record.reason, "no driver");
}

struct End {
  FailureKind kind;
  Verdict verdict;
};
constexpr End kEnds[] = {{FailureKind::kUnsupported, Verdict::kUnsupported},
                         {FailureKind::kUnavailable, Verdict::kUnavailable},
                         {FailureKind::kCrash, Verdict::kCrash},
                         {FailureKind::kTimeout, Verdict::kTimeout},
                         {FailureKind::kError, Verdict::kError},
                         {FailureKind::kOutOfMemory, Verdict::kError},
                         {FailureKind::kDeviceLost, Verdict::kError},
                         {FailureKind::kProtocol, Verdict::kError},
                         {FailureKind::kHost, Verdict::kError}};

TEST_F(CaseRunnerOf, AnOfferThatFailsIsOneResult) {
  for (const auto& [kind, verdict] : kEnds) {
    session_->calls.clear();
    session_->behave = DoingAt({.fails = kind}, Asked::kQuery, 0);
    const Attempt attempt = Judge();
    EXPECT_EQ(attempt.verdict, verdict) << Name(kind);
    EXPECT_EQ(attempt.record.verdict, Name(verdict));
    EXPECT_EQ(attempt.record.implementation, "");
  }
}

// A failure of the host is not charged to the backend.
TEST_F(CaseRunnerOf, FailuresOfTheHostAreItsOwn) {
  session_->behave = DoingAt({.fails = FailureKind::kHost}, Asked::kQuery, 0);
  EXPECT_EQ(Judge().record.fault, "assay");
  session_->calls.clear();
  session_->behave = DoingAt({.fails = FailureKind::kError}, Asked::kQuery, 0);
  EXPECT_EQ(Judge().record.fault, "");
}

// However the first implementation ends, the second one is judged, and no plan is left behind.
TEST_F(CaseRunnerOf, AFailureIsOfOneImplementationAlone) {
  session_->offer = Offering({{"bad", "f32acc"}, {"good", "f32acc"}});
  const std::pair<Asked, int> places[] = {
      {Asked::kPrepare, 0}, {Asked::kExecute, 0}, {Asked::kExecute, 1}, {Asked::kExecute, 2}, {Asked::kExecute, 3}};
  for (const auto& [kind, verdict] : kEnds) {
    for (const auto& [what, number] : places) {
      session_->calls.clear();
      session_->behave = Doing({.fails = kind}, [&](const FakeCall& call) {
        return call.what == what && call.number == number && call.implementation == "bad" && !call.padded;
      });
      EXPECT_THAT(VerdictsOfAll(), ElementsAre("bad " + std::string(Name(verdict)), "good pass"));
      ExpectNoPlanLeft();
    }
  }
  EXPECT_GT(session_->lost, 0);
}

// It died when nothing of the result was left to do.
// A case covers its teardown.
TEST_F(CaseRunnerOf, AWorkerThatEndsInAReleaseIsACrashOfItsCase) {
  session_->behave = DoingAt({.fails = FailureKind::kCrash}, Asked::kRelease, 0);
  const Attempt attempt = Judge();
  EXPECT_EQ(attempt.verdict, Verdict::kCrash);
  EXPECT_THAT(attempt.reason, HasSubstr("when its plan was freed: "));
  ExpectNoPlanLeft();
}

// A stray write may have damaged data that the next implementation needs.
TEST_F(CaseRunnerOf, AfterAStrayWriteTheWorkerIsAFreshOne) {
  session_->offer = Offering({{"a", "f32acc"}, {"b", "f32acc"}});
  session_->behave = [](const FakeCall& call) {
    return call.what == Asked::kExecute && call.implementation == "a" ? Deed{.fails = FailureKind::kMemoryFault}
                                                                      : Deed();
  };
  const uint64_t workers = session_->workers_started();
  const std::vector<Attempt> attempts = JudgeAll();
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].verdict, Verdict::kError);
  EXPECT_TRUE(attempts[0].memory_fault);
  EXPECT_EQ(attempts[1].verdict, Verdict::kPass);
  EXPECT_GT(session_->workers_started(), workers);
}

TEST_F(CaseRunnerOf, AContractThatIsNoneIsAnErrorOfOneImplementation) {
  session_->offer = Offering({{"vague", "acc=plenty"}, {"plain", "f32acc"}});
  const std::vector<Attempt> attempts = JudgeAll();
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].verdict, Verdict::kError);
  EXPECT_THAT(attempts[0].reason, HasSubstr("declares 'acc=plenty' for vague, which is not a valid contract"));
  EXPECT_EQ(attempts[1].verdict, Verdict::kPass);
}

TEST_F(CaseRunnerOf, AnInterruptIsHeededBetweenImplementations) {
  session_->offer = Offering({{"a", "f32acc"}, {"b", "f32acc"}});
  settings_.interrupted = [&] { return !session_->CallsOf(Asked::kExecute).empty(); };
  EXPECT_THAT(VerdictsOfAll(), ElementsAre("a pass"));
  ExpectNoPlanLeft();
}

class OtherLayout : public CaseRunnerOf {
 protected:
  Attempt JudgeWhere(const Deed& deed, Asked what) {
    session_->behave = Doing(deed, [=](const FakeCall& call) { return call.padded && call.what == what; });
    Attempt attempt = Judge();
    ExpectNoPlanLeft();
    return attempt;
  }
};

TEST_F(OtherLayout, IsTriedOnceByWhatPassed) {
  EXPECT_EQ(Judge().verdict, Verdict::kPass);
  size_t padded = 0;
  for (const FakeCall& call : session_->CallsOf(Asked::kExecute)) padded += call.padded;
  EXPECT_EQ(padded, 2U) << "padded, and permuted";
}

TEST_F(OtherLayout, AWrongElementOfPermutedAxesAloneIsAMismatch) {
  session_->behave = Doing({.wrong = true}, [](const FakeCall& call) {
    return call.padded && call.what == Asked::kExecute && call.number == 1;
  });
  const Attempt attempt = Judge();
  EXPECT_EQ(attempt.verdict, Verdict::kMismatch);
  EXPECT_THAT(attempt.reason, HasSubstr("with the axes in another order (channels last, matrices transposed): "));
}

TEST_F(OtherLayout, IsNotTriedByWhatFailed) {
  session_->behave = DoingAt({.wrong = true}, Asked::kExecute, 0);
  EXPECT_EQ(Judge().verdict, Verdict::kMismatch);
  for (const FakeCall& call : session_->calls) EXPECT_FALSE(call.padded);
}

TEST_F(OtherLayout, AWrongElementThereIsAMismatch) {
  const Attempt attempt = JudgeWhere({.wrong = true}, Asked::kExecute);
  EXPECT_EQ(attempt.verdict, Verdict::kMismatch);
  EXPECT_EQ(attempt.record.verdict, "mismatch");
  EXPECT_THAT(attempt.reason, HasSubstr("with padded rows and an unaligned start: "));
  EXPECT_EQ(attempt.record.layouts, "padded");
  ASSERT_EQ(attempt.kept.size(), 1U);
  EXPECT_EQ(attempt.kept[0].label, "padded");
  EXPECT_FALSE(attempt.memory_fault);
}

TEST_F(OtherLayout, OfLargeCasesIsSkippedAndTheRecordSaysSo) {
  planned_ = Planned("reduce/f32/shape=8400x2000,axes=1/fill=normal/seed=0");
  data_ = DataOf(planned_);
  const Attempt attempt = Judge();
  EXPECT_EQ(attempt.verdict, Verdict::kPass) << attempt.reason;
  EXPECT_EQ(attempt.record.layouts, "skipped: more than 64 MiB");
  for (const FakeCall& call : session_->calls) EXPECT_FALSE(call.padded);
}

TEST_F(OtherLayout, AnUnwrittenElementThereIsAMismatch) {
  EXPECT_EQ(JudgeWhere({.unwritten = true}, Asked::kExecute).verdict, Verdict::kMismatch);
}

TEST_F(OtherLayout, ASideEffectThereIsAFaultOfMemory) {
  for (const Deed& deed : {Deed{.stray_write = true}, Deed{.changed_input = true}}) {
    const Attempt attempt = JudgeWhere(deed, Asked::kExecute);
    EXPECT_EQ(attempt.verdict, Verdict::kMismatch);
    EXPECT_TRUE(attempt.memory_fault);
  }
}

TEST_F(OtherLayout, MayBeRefusedByTheOffer) {
  const Attempt attempt = JudgeWhere({.fails = FailureKind::kUnsupported}, Asked::kQuery);
  EXPECT_EQ(attempt.verdict, Verdict::kPass);
  EXPECT_EQ(attempt.record.layouts, "padded=not offered;permuted=not offered");
}

TEST_F(OtherLayout, ThatEndsTheWorkerIsACrash) {
  for (const Asked what : {Asked::kQuery, Asked::kPrepare, Asked::kExecute}) {
    const Attempt attempt = JudgeWhere({.fails = FailureKind::kCrash}, what);
    EXPECT_EQ(attempt.verdict, Verdict::kCrash);
    EXPECT_THAT(attempt.reason, HasSubstr("with padded rows and an unaligned start: "));
  }
}

TEST_F(OtherLayout, IsTriedByThoseAloneThatAreOfferedForIt) {
  session_->offer = [](const Problem&, const LayoutVariant& layout) {
    std::vector<ImplementationInfo> offered = {{"any", "f32acc"}};
    if (layout == LayoutVariant()) offered.push_back({"dense", "f32acc"});
    return offered;
  };
  session_->behave = Doing({.wrong = true}, [](const FakeCall& call) { return call.padded; });
  EXPECT_THAT(VerdictsOfAll(), ElementsAre("any mismatch", "dense pass"));
  EXPECT_EQ(session_->CallsOf(Asked::kQuery).size(), 3U);  // one for each layout
}

class JudgedAgain : public CaseRunnerOf {
 protected:
  Attempt Again(const std::string& implementation) {
    return TrialRunner(planned_, data_, settings_).JudgeAgain(device_, implementation);
  }
};

TEST_F(JudgedAgain, IsAsTheFirstTime) {
  EXPECT_EQ(Again("plain").verdict, Verdict::kPass);
  session_->behave = Doing({.wrong = true}, [](const FakeCall& call) { return call.what == Asked::kExecute; });
  const Attempt wrong = Again("plain");
  EXPECT_EQ(wrong.record.verdict, "mismatch");
  EXPECT_EQ(wrong.record.implementation, "plain");
  ExpectNoPlanLeft();
}

TEST_F(JudgedAgain, AsksAnewForWhatIsOffered) {
  TrialRunner runner(planned_, data_, settings_);
  runner.Judge(device_, [](const Attempt&) {});
  session_->offer = Offering({{"other", "f32acc"}});
  const Attempt attempt = runner.JudgeAgain(device_, "plain");
  EXPECT_EQ(attempt.verdict, Verdict::kError);
  EXPECT_EQ(attempt.record.reason, "it is not offered any more");
  session_->behave = DoingAt({.fails = FailureKind::kUnsupported}, Asked::kQuery, 0);
  session_->calls.clear();
  const Attempt refused = runner.JudgeAgain(device_, "plain");
  EXPECT_EQ(refused.verdict, Verdict::kError);
  EXPECT_THAT(refused.record.reason, HasSubstr("it is not offered any more: "));
}

TEST_F(JudgedAgain, WithoutANameIsTheOfferAlone) {
  EXPECT_EQ(Again("").verdict, Verdict::kPass);
  EXPECT_TRUE(session_->CallsOf(Asked::kPrepare).empty());
  session_->behave = Doing({.fails = FailureKind::kCrash}, [](const FakeCall&) { return true; });
  EXPECT_EQ(Again("").verdict, Verdict::kCrash);
}

}  // namespace
}  // namespace assay::test
