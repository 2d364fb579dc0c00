// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/expectations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Expectations, CoverTheVerdictsThatTheyName) {
  const auto rules = ParseExpectations(
      "a* | x:* | known_failure | of the default\n"
      "b* | x:* | known_failure below_contract | one\n"
      "c* | x:* | known_flake crash, timeout | two | and a bar\n",
      "f");
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_THAT((*rules)[0].verdicts, ElementsAre("mismatch", "below_contract", "nondeterministic"));
  EXPECT_FALSE(Covers((*rules)[0], "crash"));
  EXPECT_THAT((*rules)[1].verdicts, ElementsAre("below_contract"));
  EXPECT_FALSE((*rules)[1].flake);
  EXPECT_THAT((*rules)[2].verdicts, ElementsAre("crash", "timeout"));
  EXPECT_TRUE((*rules)[2].flake);
  EXPECT_EQ((*rules)[2].reason, "two | and a bar");
}

TEST(Expectations, TheFirstThatCoversTheVerdictDecides) {
  const auto rules =
      ParseExpectations("a* | x:* | known_failure crash | first\na* | x:* | known_failure | second\n", "f");
  ASSERT_TRUE(rules);
  EXPECT_EQ(FindExpectation(*rules, "a1", "x:y", "mismatch")->reason, "second");
  EXPECT_EQ(FindExpectation(*rules, "a1", "x:y", "crash")->reason, "first");
  EXPECT_EQ(FindExpectation(*rules, "a1", "x:y", "pass")->reason, "first");
  EXPECT_EQ(FindExpectation(*rules, "a1", "z:y", "crash"), nullptr);
}

TEST(Expectations, SayWhatIsWrongWithALine) {
  for (const char* how : {"known_failure pass", "known_failure mismatch,", "known_failure mismatch crash"}) {
    const auto rules = ParseExpectations(std::string("a | b | ") + how + " | reason\n", "f");
    ASSERT_FALSE(rules) << how;
    EXPECT_THAT(rules.error().message, HasSubstr("f:1: "));
    EXPECT_THAT(rules.error().message, HasSubstr("is not one of the verdicts mismatch, below_contract"));
  }
  EXPECT_THAT(ParseExpectations("a | b | known | reason\n", "f").error().message, HasSubstr("'known' is not one of"));
}

}  // namespace
}  // namespace assay
