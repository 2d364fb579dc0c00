// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/trial/tries.h"

#include <gtest/gtest.h>

namespace assay::test {
namespace {

TEST(Tries, StandInTheirOrder) {
  Tries tries;
  for (int i = 0; i < 16; ++i) tries.Add(Verdict::kPass);
  EXPECT_FALSE(tries.Differ());
  tries.Add(Verdict::kMismatch);
  for (int i = 0; i < 3; ++i) tries.Add(Verdict::kPass);
  EXPECT_TRUE(tries.Differ());
  EXPECT_EQ(tries.Text(), "pass*16,mismatch,pass*3");
  EXPECT_EQ(tries.Counts(), "19 pass, 1 mismatch");
  EXPECT_EQ(tries.count(), 20);
  EXPECT_EQ(tries.failed(), 1);
}

TEST(Tries, ARecordCarriesThem) {
  Record record;
  record.verdict = "pass";
  Tries tries(record);
  EXPECT_EQ(tries.count(), 1) << "its verdict is the first";
  tries.Describe(record);
  EXPECT_EQ(record.tries, "") << "of a single one there is nothing to say";
  for (const Verdict verdict : {Verdict::kPass, Verdict::kCrash, Verdict::kPass}) tries.Add(verdict);
  tries.Describe(record);
  EXPECT_EQ(record.tries, "pass*2,crash,pass");
  EXPECT_EQ(record.flake_rate, 0.25);
  EXPECT_NEAR(*record.flake_rate_low, 0.0063, 0.0001);  // Clopper and Pearson, 1 of 4: SciPy's binomtest
  EXPECT_NEAR(*record.flake_rate_high, 0.8059, 0.0001);
  const Result<Record> read = FromJsonLine([&] {
    record.case_id = "c", record.outcome = "flaky";
    return ToJsonLine(record);
  }());
  ASSERT_TRUE(read);
  EXPECT_EQ(Tries(*read).Text(), "pass*2,crash,pass");
}

// A record stays short however long a run lasts.
TEST(Tries, AreSummedUpOnceTheyHaveChangedOften) {
  Tries tries;
  for (int i = 0; i < 5000; ++i) tries.Add(i % 2 == 0 ? Verdict::kPass : Verdict::kMismatch);
  EXPECT_EQ(tries.count(), 5000);
  EXPECT_EQ(tries.failed(), 2500);
  EXPECT_LT(tries.Text().size(), 700U);
  EXPECT_EQ(tries.Counts(), "2500 pass, 2500 mismatch");
  Record record;
  record.verdict = "flaky";
  tries.Describe(record);
  Tries again(record);
  EXPECT_EQ(again.Text(), tries.Text());
  again.Add(Verdict::kPass);
  EXPECT_EQ(again.count(), 5001);
}

TEST(Tries, WhatAFileSaysMayBeAnything) {
  for (const char* text : {"pass*0", "pass*-3", "pass*", "passed", ",", ";pass", "pass,,pass", "pass*x"}) {
    Record record;
    record.verdict = "mismatch";
    record.tries = text;
    EXPECT_EQ(Tries(record).Text(), "mismatch") << text;
  }
}

TEST(Tries, APassAndAnInconclusiveOneDoNotDiffer) {
  Tries tries;
  tries.Add(Verdict::kPass);
  tries.Add(Verdict::kInconclusive);
  EXPECT_FALSE(tries.Differ());
  EXPECT_EQ(tries.failed(), 0);
  tries.Add(Verdict::kTimeout);
  EXPECT_TRUE(tries.Differ());
}

}  // namespace
}  // namespace assay::test
