// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/expected.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/engine/results/environment.h"
#include "harness/plan/catalog.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Expectation> Rule(const std::string& kind, const std::string& lines) {
  const std::string head = "[[" + kind + "]]\nid = 'sums'\nbackend = 'a'\nreason = 'it is known'\n";
  return ParseExpectations(head + lines, "f", Catalog()).value().rules;
}

Record Judged(const std::string& verdict) {
  Record r;
  r.case_id = "matmul/f32/m=1,n=1,k=1/fill=normal/seed=0", r.op = "matmul";
  r.backend = "a", r.implementation = "b", r.reason = "why", r.library_version = "A 2.6.3";
  r.verdict = r.outcome = verdict;
  return r;
}

// `covered`: as TOML has it.
Record After(const std::string& kind, const std::string& covered, const std::string& verdict,
             bool memory_fault = false) {
  Record r = Judged(verdict);
  ApplyExpectations(Rule(kind, "verdicts = " + covered), memory_fault, r);
  return r;
}

TEST(Expected, OnlyTheVerdictsOfTheRuleAreKnown) {
  for (const std::string verdict : {"mismatch", "below_contract", "nondeterministic", "crash", "timeout", "error"}) {
    EXPECT_EQ(After("known_failure", "'" + verdict + "'", verdict).outcome, "known_failure");
    const std::string other = verdict == "crash" ? "error" : "crash";
    EXPECT_EQ(After("known_failure", "'" + other + "'", verdict).outcome, verdict);
  }
  const Record other = After("known_failure", "'below_contract'", "mismatch");
  EXPECT_THAT(other.reason, HasSubstr("f:1 expects another failure: below_contract"));
  EXPECT_EQ(After("known_failure", "'below_contract'", "pass").outcome, "unexpected_pass");
  EXPECT_EQ(After("known_flake", "'below_contract'", "pass").outcome, "pass");
}

TEST(Expected, ASampleThatPassesMayLackWhatFails) {
  Record r = Judged("pass");
  r.sample_judged = 400;
  ApplyExpectations(Rule("known_failure", "verdicts = 'mismatch'"), false, r);
  EXPECT_EQ(r.outcome, "pass");
}

TEST(Expected, NoRuleCoversAFaultOfMemory) {
  EXPECT_EQ(After("known_failure", "'mismatch'", "mismatch", true).outcome, "mismatch");
  EXPECT_EQ(After("known_flake", "'mismatch'", "mismatch", true).outcome, "mismatch");
}

TEST(Expected, NoRuleCoversAFaultOfTheHarness) {
  Record of_the_harness = Judged("error");
  of_the_harness.fault = "assay";
  ApplyExpectations(Rule("known_failure", "verdicts = 'error'"), false, of_the_harness);
  EXPECT_EQ(After("known_failure", "'error'", "error").outcome, "known_failure");
  EXPECT_EQ(of_the_harness.outcome, "error");
  EXPECT_EQ(of_the_harness.fault, "assay");
}

TEST(Expected, AKnownFailureSaysWhatIsAtFaultAndWhereToReadOn) {
  const std::vector<Expectation> rules = Rule(
      "known_failure", "op = 'matmul'\nlibrary = '2.6'\nverdicts = 'mismatch'\nfault = 'driver'\nread = 'https://a.b'");
  Record known = Judged("mismatch"), newer = Judged("mismatch");
  newer.library_version = "A 3.0";
  ApplyExpectations(rules, false, known);
  EXPECT_EQ(known.outcome, "known_failure");
  EXPECT_EQ(known.known_issue + " " + known.fault + " " + known.read_on, "sums driver https://a.b");
  ApplyExpectations(rules, false, newer);
  EXPECT_EQ(newer.outcome, "mismatch");
  EXPECT_THAT(newer.reason, HasSubstr("f:1 lists it for other versions: it is known; this is library 'A 3.0'"));
  EXPECT_THAT(FindUnusedRules(rules, {newer}), ElementsAre("f:1"));
  EXPECT_THAT(FindUnusedRules(rules, {newer, known}), IsEmpty());
  // Without a place of its proof, the rule itself is named.
  const Record plain = After("known_failure", "'mismatch'", "mismatch");
  EXPECT_EQ(plain.known_issue + " " + plain.fault + " " + plain.read_on, "sums library f:1");
}

TEST(Expected, ARuleThatHasExpiredCoversNothingAndSaysWhoseItWas) {
  std::vector<Expectation> rules =
      Rule("known_failure", "verdicts = 'mismatch'\nowner = 'kernel team'\nexpires = 2026-03-31");
  Record covered = Judged("mismatch"), late = Judged("mismatch"), passing = Judged("pass");
  ApplyExpectations(rules, false, covered);
  EXPECT_EQ(covered.outcome, "known_failure");
  EXPECT_EQ(covered.known_owner + " " + covered.known_expires, "kernel team 2026-03-31");
  EXPECT_THAT(FindExpiredRules(rules), IsEmpty());
  rules[0].expired = true;
  ApplyExpectations(rules, false, late);
  ApplyExpectations(rules, false, passing);
  EXPECT_EQ(late.outcome + " " + passing.outcome, "mismatch pass");
  EXPECT_THAT(late.reason, HasSubstr("[f:1 has expired (sums, of kernel team, until 2026-03-31)"));
  EXPECT_THAT(FindExpiredRules(rules), ElementsAre("f:1 (sums, of kernel team, until 2026-03-31)"));
}

TEST(Expected, AProcessorThatNoFileKnowsIsNamed) {
  ExpectationSet set;
  set.established = {{"one*", {"x86-64-avx2", "x86-64-avx512"}}, {"cuda", {"x86-64-amx"}}};
  EXPECT_EQ(UnknownProcessor(set, {"onednn", "cpu"}, "x86-64-avx2"), "");
  EXPECT_EQ(UnknownProcessor(set, {"cpu"}, "x86-64-amx"), "");
  EXPECT_THAT(UnknownProcessor(set, {"onednn", "cpu"}, "x86-64-amx"),
              HasSubstr("processor class x86-64-amx is not among those on which the known failures of onednn were "
                        "established (x86-64-avx2, x86-64-avx512)"));
}

TEST(ProcessorClass, IsTheWidestInstructionsThatItHas) {
  EXPECT_EQ(ProcessorClassOf("x86_64", "fpu sse4_1 avx avx2 avx512f avx512_vnni avx512_bf16"), "x86-64-avx512-bf16");
  EXPECT_EQ(ProcessorClassOf("x86_64", "avx512_fp16 amx_tile avx512f"), "x86-64-amx");
  EXPECT_EQ(ProcessorClassOf("x86_64", "fpu sse4_1 avx avx2"), "x86-64-avx2");
  EXPECT_EQ(ProcessorClassOf("x86_64", "fpu avx20"), "x86-64");
  EXPECT_EQ(ProcessorClassOf("aarch64", "fp asimd sve"), "aarch64-sve");
  EXPECT_EQ(ProcessorClassOf("riscv64", ""), "riscv64");
}

}  // namespace
}  // namespace assay
