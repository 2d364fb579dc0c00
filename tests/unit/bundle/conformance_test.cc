// SPDX-License-Identifier: Apache-2.0
// Conclusions of a profile from a run's records, in a sentence.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "harness/plan/catalog.h"
#include "harness/tools/bundle/conform/finding.h"
#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Record MakeResult(const std::string& id, const std::string& verdict, const std::string& implementation = "one") {
  Record r;
  r.case_id = id, r.op = id.substr(0, id.find('/')), r.implementation = implementation, r.backend = "mine";
  r.verdict = r.outcome = verdict;
  r.result_class = "within_class";
  return r;
}

const Profile kProfile{
    .name = "core", .mandatory = {"matmul/f32"}, .sound = {{"matmul", "legal.a"}}, .faulty = {{"matmul", "fault.b"}}};

std::string Id(const std::string& op_and_type, int number) {
  return fmt::format("{}/m={},n=1,k=1/fill=normal/seed=7", op_and_type, number);
}

// Ten cases of matmul in f32 and two in bf16 that all pass.
struct Submission {
  Submission() {
    for (int i = 1; i <= 10; ++i) Add(MakeResult(Id("matmul/f32", i), "pass"));
    for (int i = 1; i <= 2; ++i) Add(MakeResult(Id("matmul/bf16", i), "pass"));
  }
  void Add(const Record& r) {
    records.push_back(r);
    if (plan.entries.empty() || plan.entries.back().id != r.case_id)
      plan.entries.push_back({.id = r.case_id, .requirement = ""});
  }
  ConformanceFinding Judge(ControlFinding control = {}) const {
    return JudgeConformance(kProfile, plan, Packed(), std::move(control));
  }
  // The records in a run's form.
  RecordList Packed() const {
    RecordList list;
    for (const Record& r : records) list.push_back(r);
    return list;
  }

  Plan plan;
  std::vector<Record> records;
};

TEST(Conformance, SaysWhatHolds) {
  const ConformanceFinding finding = Submission().Judge();
  EXPECT_TRUE(finding.Conforms());
  EXPECT_EQ(finding.Sentence(), "CONFORMANT core: matmul (f32) + matmul (bf16), 0 waivers");
}

TEST(Conformance, AMandatoryFeatureMayNotBeSkippedAndAnotherMay) {
  Submission mandatory, other;
  mandatory.records[3].verdict = mandatory.records[3].outcome = "unsupported";
  EXPECT_FALSE(mandatory.Judge().Conforms());
  EXPECT_THAT(mandatory.Judge().Sentence(),
              StartsWith("NOT CONFORMANT core: matmul/f32: of 10 cases 1 unsupported, such as matmul/f32/m=4"));
  other.records.back().verdict = other.records.back().outcome = "unsupported";
  EXPECT_EQ(other.Judge().Sentence(), "CONFORMANT core: matmul (f32), 0 waivers; not shown: matmul (bf16)");
}

TEST(Conformance, WhatIsSetApartIsNamedWhereItDoesNotHold) {
  Profile profile = kProfile;
  profile.apart = {"kind=argmax", "log"};
  Submission s;
  for (const char* kind : {"argmax", "sum"}) {
    s.Add(MakeResult(fmt::format("reduce/f32/shape=3,kind={}/fill=normal/seed=7", kind),
                     kind == std::string("sum") ? "pass" : "unsupported"));
    s.Add(MakeResult(fmt::format("reduce/f64/shape=3,kind={}/fill=normal/seed=7", kind), "pass"));
  }
  s.Add(MakeResult("rope/f32/b=1/fill=normal/seed=7", "pass"));
  s.Add(MakeResult("rms_norm/f32/rows=1/fill=normal/seed=7", "pass"));
  s.Add(MakeResult("rms_norm/f32/rows=1,log=1/fill=normal/seed=7", "unsupported"));
  s.Add(MakeResult("softmax/f32/shape=3,log=1/fill=normal/seed=7", "unsupported"));
  s.Add(MakeResult("softmax/f32/shape=3/fill=normal/seed=7", "unsupported"));
  EXPECT_EQ(JudgeConformance(profile, s.plan, s.Packed(), {}).Sentence(),
            "CONFORMANT core: matmul (f32) + matmul (bf16), reduce (f32 without kind=argmax, f64), rms_norm (f32 "
            "without log), "
            "rope (f32), 0 waivers; not shown: "
            "softmax (f32)");
}

TEST(Conformance, NothingThatIsOfferedMayBeWrong) {
  for (const char* verdict :
       {"mismatch", "nondeterministic", "crash", "timeout", "error", "flaky", "missing", "unavailable"}) {
    Submission s;
    s.Add(MakeResult(Id("matmul/bf16", 2), verdict, "another"));  // beside one that passes, of what is not mandatory
    EXPECT_FALSE(s.Judge().Conforms()) << verdict;
    EXPECT_THAT(s.Judge().Sentence(), HasSubstr("matmul/bf16: of 2 cases 1 wrong or missing")) << verdict;
  }
}

TEST(Conformance, ACaseWithoutARecordIsWrong) {
  Submission s;
  s.plan.entries.push_back({.id = Id("matmul/f32", 99), .requirement = ""});
  EXPECT_THAT(s.Judge().Sentence(), HasSubstr("1 wrong or missing, such as matmul/f32/m=99"));
}

TEST(Conformance, AWeakerContractIsNoHarmBesideOneThatMeetsTheRequiredOneAndNotEnoughAlone) {
  Submission beside, alone, mislabelled;
  beside.Add(MakeResult(Id("matmul/bf16", 2), "below_contract", "tensor-cores"));
  EXPECT_TRUE(beside.Judge().Conforms());
  EXPECT_THAT(beside.Judge().Sentence(), Not(HasSubstr("not shown")));
  alone.records[0].verdict = alone.records[0].outcome = "below_contract";
  EXPECT_THAT(alone.Judge().Sentence(), HasSubstr("1 in a weaker contract"));
  Record r = MakeResult(Id("matmul/bf16", 2), "below_contract", "another");
  r.lower_class_name = "bf16 operands";  // it does not keep what it declares
  mislabelled.Add(r);
  EXPECT_THAT(mislabelled.Judge().Sentence(), HasSubstr("1 wrong"));
}

Record Waived(Record r, const char* rule) {
  r.verdict = "mismatch", r.outcome = "known_failure", r.known_issue = rule;
  return r;
}

TEST(Conformance, WaiversAreCountedWithTheirCasesAndCoverFew) {
  Submission s;
  s.records[0] = Waived(s.records[0], "early-rounding");
  s.records[11] = Waived(s.records[11], "other");
  EXPECT_TRUE(s.Judge().Conforms());
  EXPECT_THAT(s.Judge().Sentence(), HasSubstr(", 2 waivers over 2 cases"));
  s.records[1] = Waived(s.records[1], "early-rounding");
  EXPECT_THAT(s.Judge().Sentence(), HasSubstr("NOT CONFORMANT core: matmul/f32: of 10 cases 2 waived"));
  s.records[1] = s.records[2], s.records[10] = Waived(s.records[10], "other");  // nothing of bf16 is met
  EXPECT_FALSE(s.Judge().features[1].Holds());
}

TEST(Conformance, AMandatoryFeatureNeedsCases) {
  Profile profile = kProfile;
  profile.mandatory.push_back("softmax/f32");
  profile.apart = {"log"};
  Submission s;
  s.Add(MakeResult("reduce/f32/shape=3,log=1/fill=normal/seed=7", "pass"));
  const std::string sentence = JudgeConformance(profile, s.plan, s.Packed(), {}).Sentence();
  EXPECT_THAT(sentence, StartsWith("NOT CONFORMANT core: softmax/f32: the profile has no case of it"));
  profile.mandatory.pop_back();
  EXPECT_THAT(JudgeConformance(profile, s.plan, s.Packed(), {}).Sentence(), HasSubstr("not shown: reduce (f32)"));
}

TEST(Conformance, OneCaseOfAHundredMayBeInconclusiveAndNoneSuspect) {
  Submission one, two, suspect;
  one.records[0].verdict = one.records[0].outcome = "inconclusive";
  EXPECT_EQ(one.Judge().Sentence(), "CONFORMANT core: matmul (f32) + matmul (bf16), 1 case inconclusive, 0 waivers");
  two.records[0].verdict = two.records[1].verdict = "inconclusive";
  EXPECT_THAT(two.Judge().Sentence(), HasSubstr("of 10 cases 2 inconclusive"));
  suspect.records[0].result_class = "suspect";
  EXPECT_THAT(suspect.Judge().Sentence(), HasSubstr("of 10 cases 1 suspect"));
}

TEST(Conformance, AResultOfWhichASampleWasJudgedMeetsNoCase) {
  Submission s;
  EXPECT_THAT(s.Judge().Sentence(), StartsWith("CONFORMANT core"));
  s.records[0].sample_judged = 400;
  EXPECT_THAT(s.Judge().Sentence(), HasSubstr("of 10 cases 1 suspect"));
}

TEST(Conformance, RecordsOfAnotherDeviceHelpNobody) {
  Submission s;
  s.records.back().verdict = s.records.back().outcome = "unsupported";
  Record other = MakeResult(s.records.back().case_id, "pass");
  other.backend = "another";
  s.Add(other);
  EXPECT_FALSE(s.Judge().Conforms());
  EXPECT_THAT(s.Judge().Sentence(), HasSubstr("the records are of several devices: another, mine"));
}

TEST(Conformance, SaysWhereWorkersWereNotSealed) {
  Submission s;
  s.records[2].sandbox = "partial", s.records[3].sandbox = "full";
  EXPECT_THAT(s.Judge().Sentence(), HasSubstr(", 0 waivers, sandbox partial"));
}

TEST(Conformance, TheControlHasToRejectWhatIsFaultyAndToAcceptWhatIsSound) {
  const Record rejected = MakeResult(Id("matmul/f32", 1), "mismatch", "fault.b");
  const Record accepted = MakeResult(Id("matmul/f32", 1), "pass", "fault.b");
  const Record sound = MakeResult(Id("matmul/f32", 1), "pass", "legal.a");
  const Record refused = MakeResult(Id("matmul/f32", 2), "mismatch", "legal.a");
  EXPECT_TRUE(JudgeControl(kProfile, {rejected, sound}).Holds());
  EXPECT_TRUE(JudgeControl(kProfile, {accepted, rejected, sound}).Holds());  // one case shows it
  EXPECT_THAT(JudgeControl(kProfile, {accepted, sound}).accepted, testing::ElementsAre("matmul:fault.b"));
  for (const char* no_finding : {"unsupported", "error", "timeout", "inconclusive", "unavailable"}) {
    const Record r = MakeResult(Id("matmul/f32", 1), no_finding, "fault.b");
    EXPECT_THAT(JudgeControl(kProfile, {r, sound}).accepted, testing::ElementsAre("matmul:fault.b")) << no_finding;
  }
  EXPECT_THAT(JudgeControl(kProfile, {rejected, sound, refused}).rejected, testing::ElementsAre("matmul:legal.a"));
  EXPECT_THAT(JudgeControl(kProfile, {rejected}).rejected, testing::ElementsAre("matmul:legal.a"));
  const ConformanceFinding finding = Submission().Judge(JudgeControl(kProfile, {sound}));
  EXPECT_FALSE(finding.Conforms());
  EXPECT_THAT(finding.Sentence(),
              HasSubstr("the negative control: none was found wrong of the results of the faulty matmul:fault.b"));
}

// A change of their files is another version: give it another name.
TEST(Profiles, TheShippedOnesAreThoseThatWerePublished) {
  const std::pair<const char*, const char*> published[] = {
      {"conformance-1.0", "d7f214cb333fa740fd40f3f3ac85b48401c09eae453a50f6cdba614ba415cfa7"},
      {"conformance-2.0", "437c8cde7c4f9d4b3a75447d6692fa1d014da8b57aa48f7d62c3e58cdc0159a7"}};
  for (const auto& [name, hash] : published) {
    const auto profile = LoadProfile(name);
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_EQ(profile->sha256, hash) << name;
    EXPECT_EQ(profile->Title(), name);
  }
  EXPECT_THAT(ListShippedProfiles(), testing::ElementsAre("conformance-1.0", "conformance-2.0"));
}

TEST(Profiles, TheSecondOneHasCasesOfEveryOperatorThatThereWas) {
  const auto profile = LoadProfile("conformance-2.0");
  ASSERT_TRUE(profile) << profile.error().message;
  const auto cases = LoadSuite(profile->cases.string(), Catalog());
  ASSERT_TRUE(cases) << cases.error().message;
  EXPECT_EQ(cases->size(), 1500U);
  std::set<std::string> operators;
  for (const PlannedCase& planned : *cases) operators.insert(planned.spec.op);
  EXPECT_EQ(operators.size(), 170U);
}

TEST(Profiles, ADraftSaysSo) {
  const TemporaryFolder folder;
  std::ofstream(folder.Path("c.suite")) << "matmul dtypes=f32 m=1 n=1 k=1\n";
  std::ofstream(folder.Path("p.toml")) << "draft = true\ncases = 'c.suite'\nmandatory = ['matmul/f32']\n"
                                       << "[control]\ncases = 'c.suite'\nsound = ['matmul:legal.a']\n"
                                       << "faulty = ['matmul:fault.b']\n";
  const auto profile = LoadProfile(folder.Path("p.toml"));
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_THAT(JudgeConformance(*profile, {}, {}, {}).Sentence(), HasSubstr(profile->name + " (draft)"));
}

TEST(Profiles, AFileOfOnesOwnIsSaidToBeThat) {
  const TemporaryFolder folder;
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder.Path(name)) << text; };
  write("c.suite", "matmul dtypes=f32 m=1 n=1 k=1\n");
  const std::string control = "[control]\ncases = 'c.suite'\nsound = ['matmul:legal.a']\nfaulty = ['matmul:fault.b']\n";
  write("conformance-1.0.toml", "cases = 'c.suite'\nmandatory = ['matmul/f32']\n" + control);
  const auto own = LoadProfile(folder.Path("conformance-1.0.toml"));
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_THAT(own->name, StartsWith("conformance-1.0 (not shipped, "));
  const auto message = [&](const std::string& text) {
    write("p.toml", text);
    const auto profile = LoadProfile(folder.Path("p.toml"));
    return profile ? std::string() : profile.error().message;
  };
  EXPECT_THAT(message("cases = 'c.suite'\nmandatory = ['matmul/f32']\n"),
              HasSubstr("p.toml: a profile needs cases, mandatory"));
  EXPECT_THAT(message("case = 'c.suite'\n"), HasSubstr("p.toml:1: no key 'case'"));
  EXPECT_THAT(message("cases = 'c'\n"), HasSubstr("takes the name of a .suite file"));
  EXPECT_THAT(message("mandatory = 'matmul'\n"), HasSubstr("takes a list of texts"));
  EXPECT_THAT(message("[control]\nsound = ['legal.a']\n"), HasSubstr("'legal.a' is not OPERATOR:IMPLEMENTATION"));
  EXPECT_THAT(message("cases = 'none.suite'\nmandatory = ['a/f32']\n" + control), HasSubstr("none.suite"));
  EXPECT_THAT(message("= 1\n"), HasSubstr("p.toml:1"));
  write("d.suite", "matmul dtypes=f32 m=1 n=1 k=1\n  others\n");
  EXPECT_THAT(message("cases = 'd.suite'\nmandatory = ['a/f32']\n" + control),
              HasSubstr("leave out the lines that begin with 'others'"));
  EXPECT_THAT(message("draft = 'yes'\n"), HasSubstr("p.toml:1: no key 'draft'"));
  EXPECT_THAT(LoadProfile("conformance-1.1").error().message, HasSubstr("did you mean 'conformance-1.0'?"));
}

TEST(Profiles, FeaturesAreOperatorsInTypes) {
  const auto feature = [](const char* id) { return FeatureOf(ParseId(id).value(), {"softcap", "kind=argmax"}); };
  EXPECT_EQ(feature("matmul/bf16-bf16-f32/m=1/fill=normal/seed=0"), "matmul/bf16");
  EXPECT_EQ(feature("fft/c64/n=1/fill=normal/seed=0"), "fft/f32");
  EXPECT_EQ(feature("fft/f64-c128/n=1/fill=normal/seed=0"), "fft/f64");
  EXPECT_EQ(feature("matmul/i8-i8-i32/m=1/fill=normal/seed=0"), "matmul/i8");
  EXPECT_EQ(feature("matmul/e4m3-e4m3-bf16/m=1/fill=normal/seed=0"), "matmul/fp8");
  EXPECT_EQ(feature("reduce/f32/shape=1,kind=max/fill=normal/seed=0"), "reduce/f32");
  EXPECT_EQ(feature("reduce/f32-i64/shape=1,kind=argmax/fill=normal/seed=0"), "reduce/f32+kind=argmax");
  EXPECT_EQ(feature("attention/f16/b=1,softcap=50/fill=normal/seed=0"), "attention/f16+softcap");
}

}  // namespace
}  // namespace assay
