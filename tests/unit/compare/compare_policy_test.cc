// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/compare_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(ComparePolicy, WithoutAFileWrongResultsAndLostOnesFailAndNumbersAreReported) {
  const RegressionLimits limits = ComparePolicy().For("matmul", "cpu", "naive", "matmul/f32/m=1/fill=normal/seed=0");
  EXPECT_TRUE(limits.verdict_worse && limits.support_lost && limits.lost_results);
  EXPECT_FALSE(limits.new_failure || limits.class_worse || limits.bits_changed);
  EXPECT_FALSE(limits.margin_growth || limits.effective_bits_lost || limits.slower_percent);
}

TEST(ComparePolicy, TheLastRuleThatMatchesAndSetsAKeyDecides) {
  const auto policy = ParsePolicy(R"(
bits_changed = true
slower_percent = 5
[[rule]]
op = "conv*"
backend = "onednn"
bits_changed = false
margin_growth = 2.5
[[rule]]
implementation = "wino?rad"
case = "*/fill=normal/*"
slower_percent = false
margin_growth = 3
)",
                                  "p.toml");
  ASSERT_TRUE(policy) << policy.error().message;
  const RegressionLimits plain = policy->For("matmul", "onednn", "jit", "matmul/f32/m=1/fill=normal/seed=0");
  EXPECT_TRUE(plain.bits_changed);
  EXPECT_EQ(plain.slower_percent, 5);
  EXPECT_FALSE(plain.margin_growth);
  const RegressionLimits both = policy->For("conv", "onednn", "winograd", "conv/f32/n=1/fill=normal/seed=0");
  EXPECT_FALSE(both.bits_changed);
  EXPECT_FALSE(both.slower_percent);
  EXPECT_EQ(both.margin_growth, 3);
  EXPECT_EQ(policy->For("conv", "onednn", "winograd", "conv/f32/n=1/fill=special/seed=0").margin_growth, 2.5);
  EXPECT_FALSE(policy->For("conv", "cpu", "direct", "conv/f32/n=1/fill=normal/seed=0").margin_growth);
}

TEST(ComparePolicy, TheCommandLineYieldsToRulesOnly) {
  auto policy = ParsePolicy("slower_percent = 50\n[[rule]]\nop = 'fft'\nslower_percent = false\n", "p.toml");
  ASSERT_TRUE(policy) << policy.error().message;
  policy->SetDefault("slower_percent", 3.0);
  EXPECT_EQ(policy->For("matmul", "cpu", "naive", "").slower_percent, 3);
  EXPECT_FALSE(policy->For("fft", "cpu", "radix", "").slower_percent);
}

TEST(ComparePolicy, ErrorsNameFileLineAndColumn) {
  const auto error = [](const char* text) {
    const auto policy = ParsePolicy(text, "dir/p.toml");
    return policy ? std::string("no error") : policy.error().message;
  };
  EXPECT_THAT(error("bits_changed = true\n  slower = 5\n"),
              StartsWith("dir/p.toml:2:3: no key 'slower'; known: verdict"));
  EXPECT_THAT(error("bits_changed = 1\n"), StartsWith("dir/p.toml:1:16: 'bits_changed' takes true or false"));
  EXPECT_THAT(error("\nmargin_growth = '2'\n"), StartsWith("dir/p.toml:2:17: 'margin_growth' takes a number"));
  EXPECT_THAT(error("margin_growth = true\n"), HasSubstr("takes a number"));
  EXPECT_THAT(error("margin_growth = -1\n"), HasSubstr("takes a number"));
  EXPECT_THAT(error("margin_growth = nan\n"), HasSubstr("takes a number"));
  EXPECT_THAT(error("a = = 1\n"), StartsWith("dir/p.toml:1:5: not TOML: "));
  EXPECT_THAT(error("[rule]\nop = 'x'\n"), StartsWith("dir/p.toml:1:1: 'rule' is no list of tables"));
  EXPECT_THAT(error("[[rule]]\nop = 'x'\n"), StartsWith("dir/p.toml:1:1: the rule sets nothing"));
  EXPECT_THAT(error("[[rule]]\nop = 7\nbits_changed = true\n"), StartsWith("dir/p.toml:2:6: 'op' takes a glob"));
  EXPECT_THAT(error("[[rule]]\ndevice = 'x'\n"), StartsWith("dir/p.toml:2:1: no key 'device'"));
  EXPECT_THAT(LoadPolicy("/nonexistent.toml").error().message,
              HasSubstr("cannot read the policy file /nonexistent.toml"));
}

}  // namespace
}  // namespace assay
