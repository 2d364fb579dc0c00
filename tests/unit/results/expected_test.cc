// SPDX-License-Identifier: Apache-2.0
#include "harness/results/expected.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/plan/catalog.h"
#include "harness/results/processor_class.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Record After(const std::string& how, const std::string& verdict, bool memory_fault = false) {
  const auto file = ParseExpectations("matmul/* | a:b | " + how + " | it is known\n", "f", Catalog());
  Record r;
  r.case_id = "matmul/f32/m=1,n=1,k=1/fill=normal/seed=0", r.op = "matmul";
  r.backend = "a", r.implementation = "b", r.reason = "why";
  r.verdict = r.outcome = verdict;
  ApplyExpectations(file.value().rules, memory_fault, r);
  return r;
}

TEST(Expected, OnlyTheVerdictsOfTheRuleAreKnown) {
  for (const char* verdict : {"mismatch", "below_contract", "nondeterministic"}) {
    EXPECT_EQ(After("known_failure", verdict).outcome, "known_failure");
  }
  for (const char* verdict : {"crash", "timeout", "error"}) {
    EXPECT_EQ(After("known_failure", verdict).outcome, verdict);
    EXPECT_EQ(After(std::string("known_failure ") + verdict, verdict).outcome, "known_failure");
  }
  const Record other = After("known_failure below_contract", "mismatch");
  EXPECT_EQ(other.outcome, "mismatch");
  EXPECT_THAT(other.reason, HasSubstr("f:1 expects another failure: below_contract"));
  EXPECT_EQ(After("known_failure below_contract", "pass").outcome, "unexpected_pass");
}

TEST(Expected, NoRuleCoversAFaultOfMemory) {
  EXPECT_EQ(After("known_failure mismatch", "mismatch", true).outcome, "mismatch");
  EXPECT_EQ(After("known_flake", "mismatch", true).outcome, "mismatch");
}

TEST(Expected, NoRuleCoversAFaultOfTheHarness) {
  const auto file = ParseExpectations("matmul/* | a:b | known_failure error | it is known\n", "f", Catalog());
  Record r;
  r.case_id = "matmul/f32/m=1,n=1,k=1/fill=normal/seed=0", r.op = "matmul", r.backend = "a", r.implementation = "b";
  r.verdict = r.outcome = "error";
  Record of_the_harness = r;
  of_the_harness.fault = "assay";
  ApplyExpectations(file.value().rules, false, r);
  ApplyExpectations(file.value().rules, false, of_the_harness);
  EXPECT_EQ(r.outcome, "known_failure");
  EXPECT_EQ(of_the_harness.outcome, "error");
  EXPECT_EQ(of_the_harness.fault, "assay");
}

constexpr const char* kVersioned =
    "known_failure sums\n  case op=matmul\n  backend a library=2.6\n  fails mismatch\n  fault driver\n"
    "  reason it is known\n  read https://example.org\n";

TEST(Expected, AKnownFailureSaysWhatIsAtFaultAndWhereToReadOn) {
  const std::vector<Expectation> rules = ParseExpectations(kVersioned, "f", Catalog()).value().rules;
  Record known;
  known.op = "matmul", known.backend = "a", known.library_version = "A 2.6.3", known.verdict = "mismatch";
  Record newer = known;
  newer.library_version = "A 3.0";
  ApplyExpectations(rules, false, known);
  EXPECT_EQ(known.outcome, "known_failure");
  EXPECT_EQ(known.known_issue + " " + known.fault + " " + known.read_on, "sums driver https://example.org");
  newer.outcome = "mismatch";
  ApplyExpectations(rules, false, newer);
  EXPECT_EQ(newer.outcome, "mismatch");
  EXPECT_THAT(newer.reason, HasSubstr("as f:1 of other versions says: it is known; this is library 'A 3.0'"));
  EXPECT_THAT(FindUnusedRules(rules, {newer}), ElementsAre("f:1"));
  EXPECT_THAT(FindUnusedRules(rules, {newer, known}), IsEmpty());
  // Without a name or a place of its proof, the rule itself is named.
  const Record plain = After("known_failure", "mismatch");
  EXPECT_EQ(plain.known_issue + " " + plain.fault + " " + plain.read_on, "f:1 library f:1");
}

TEST(Expected, AProcessorThatNoFileKnowsIsNamed) {
  ExpectationSet set;
  set.established = {{"one*", {"x86-64-avx2", "x86-64-avx512"}}, {"cuda", {"x86-64-amx"}}};
  EXPECT_EQ(UnknownProcessor(set, {"onednn", "cpu"}, "x86-64-avx2"), "");
  EXPECT_EQ(UnknownProcessor(set, {"cpu"}, "x86-64-amx"), "");
  EXPECT_THAT(UnknownProcessor(set, {"onednn", "cpu"}, "x86-64-amx"),
              HasSubstr("processor class x86-64-amx is none of those on which the known failures of onednn were "
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
