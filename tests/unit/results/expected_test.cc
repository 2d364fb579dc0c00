// SPDX-License-Identifier: Apache-2.0
#include "harness/results/expected.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using ::testing::HasSubstr;

Record After(const std::string& how, const std::string& verdict, bool memory_fault = false) {
  const auto rules = ParseExpectations("m* | a:b | " + how + " | it is known\n", "f");
  Record r;
  r.case_id = "m", r.backend = "a", r.implementation = "b", r.reason = "why";
  r.verdict = r.outcome = verdict;
  ApplyExpectations(rules.value(), memory_fault, r);
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

}  // namespace
}  // namespace assay
