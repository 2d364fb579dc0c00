// SPDX-License-Identifier: Apache-2.0
// Every bug changes the exact result wherever the corpus offers it; those that depend on values, on data that has them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/faults/corpus_checks.h"
#include "tests/faults/corpus_fixture.h"
#include "tests/support/full.h"

namespace assay {
namespace {

// Sums and products alone, whose golden values are exact to the last bits.
constexpr EffectLimits kLimits{.noise = 1e-13, .of_largest = false};

// Bugs that only some values show, each with a case that has them.
struct OfValues {
  const char* fault;
  const char* case_id;
};
constexpr OfValues kBugsOfValues[] = {
    {"fault.infinity-saturated", "matmul/f32/m=9,n=20,k=16/fill=special/seed=0"},
    {"fault.nan-replaced-by-zero", "matmul/f32/m=9,n=20,k=64/fill=special/seed=0"},
    {"fault.zero-operand-skips-infinity", "matmul/f32/m=200,n=200,k=16/fill=special/seed=0"},
    {"fault.infinity-for-large-finite", "matmul/f32/m=40,n=40,k=16/fill=special/seed=0"},
    {"fault.subnormal-operands-flushed", "matmul/f32/m=200,n=20,k=1/fill=special/seed=0"},
    {"fault.subnormal-f16-operands-flushed", "matmul/f16/m=9,n=20,k=64/fill=subnormal/seed=0"},
    {"fault.i8-sums-saturate-in-i16", "matmul/i8-i8-i32/m=9,n=20,k=256/fill=uniform/seed=0"},
    {"fault.i8-sums-kept-in-f32", "matmul/i8-i8-i32/m=2,n=3,k=16384/fill=coded/seed=0"},
    {"fault.i8-sums-converted-to-f32", "matmul/i8-i8-i32/m=2,n=3,k=16384/fill=coded/seed=0"},
    {"fault.subnormal-operands-flushed", "reduce/f32/shape=9x64,axes=1,kind=sum/fill=subnormal/seed=0"},
    {"fault.extreme-starts-at-zero", "reduce/f32/shape=64x3,axes=1,kind=max/fill=normal/seed=0"},
    {"fault.extreme-loses-nan-by-position", "reduce/f32/shape=33x300,axes=1,kind=max/fill=special/seed=0"},
    {"fault.arg-takes-last-of-ties", "reduce/bf16-i64/shape=33x300,axes=1,kind=argmax/fill=ramp/seed=0"},
    {"fault.logsumexp-without-shift", "reduce/f32/shape=33x300,axes=1,kind=logsumexp/fill=outlier/seed=0"},
};

std::vector<std::string> FaultsOfValues() {
  std::vector<std::string> faults;
  for (const OfValues& one : kBugsOfValues) faults.emplace_back(one.fault);
  return faults;
}

class Effects : public testing::TestWithParam<const char*> {};

TEST_P(Effects, EveryBugChangesTheExactResult) {
  ExpectBugsHaveEffects(GetParam(), FaultsOfValues(), 6, kLimits);
}

INSTANTIATE_TEST_SUITE_P(Corpus, Effects,
                         testing::Values("matmul/f32/m=33,n=40,k=300/fill=normal/seed=0",
                                         "matmul/e4m3-e4m3-f32/m=33,n=40,k=64/fill=normal/seed=0",
                                         "matmul/f16-f16-f32/m=33,n=40,k=64/fill=normal/seed=0",
                                         "matmul/bf16/m=9,n=20,k=77,alpha=1.25,beta=0.5,bias=1/fill=normal/seed=0",
                                         "matmul/f64/m=9,n=20,k=77,batch=3,transa=1,transb=1/fill=normal/seed=0",
                                         "matmul/i8-i8-i32/m=9,n=20,k=77/fill=uniform/seed=0",
                                         "reduce/f32/shape=33x300,axes=1,kind=sum/fill=normal/seed=0",
                                         "reduce/f16/shape=300x33,axes=0,kind=mean/fill=normal/seed=0",
                                         "reduce/bf16-f32/shape=33x300,axes=1,kind=l2/fill=normal/seed=0",
                                         "reduce/f32/shape=33x300,axes=1,kind=prod/fill=near_one/seed=0",
                                         "reduce/f32/shape=33x300,axes=1,kind=logsumexp/fill=normal/seed=0",
                                         "reduce/f64/shape=7x5x33,axes=2,kind=sum/fill=normal/seed=0",
                                         "reduce/f32/shape=33x300,axes=1,kind=max/fill=normal/seed=0",
                                         "reduce/f32-i64/shape=33x300,axes=1,kind=argmax/fill=normal/seed=0"));

TEST(Corpus, BugsOfValuesChangeTheExactResultWhereTheyAre) {
  for (const OfValues& one : kBugsOfValues) ExpectEffect(one.case_id, one.fault, kLimits);
}

// Validates the measure of effects: a correct schedule in the same arithmetic changes nothing.
TEST(Corpus, DoubleSumsOfNarrowOperandsAreNotChanged) {
  ExpectLegalSchedulesHaveNone("matmul/f16-f16-f32/m=33,n=40,k=64/fill=normal/seed=0", kLimits);
}

// A race must show in some run of a plan, whatever the data.
TEST(Corpus, RacesAreCaught) {
  Corpus corpus;
  for (const char* id : {"matmul/f32/m=33,n=40,k=300/fill=normal/seed=0",
                         "reduce/f32/shape=33x300,axes=1,kind=sum/fill=normal/seed=0"}) {
    const std::vector<Judged> judged = corpus.Judge(id, "fault.race-");
    ASSERT_EQ(judged.size(), 1u) << id;
    EXPECT_NE(judged[0].verdict, Verdict::kPass) << id;
  }
}

// Sums of i8 products in f32, which declare i32, on data that f32 holds: the twin exceeds it as soon as operands can.
TEST(Corpus, IntegerSumsInFloatAreCaught) {
  Corpus corpus;
  for (const int k : {1025, 1040, 1041, 2048, 16384}) {
    const std::string id = "matmul/i8-i8-i32/m=2,n=20,k=" + std::to_string(k) + "/fill=normal/seed=0";
    for (const char* fault : {"fault.i8-sums-kept-in-f32", "fault.i8-sums-converted-to-f32"}) {
      const std::vector<Judged> judged = corpus.Judge(id, fault);
      ASSERT_EQ(judged.size(), 1u) << id;
      EXPECT_EQ(judged[0].verdict, Verdict::kMismatch) << id << " " << fault << ": " << judged[0].reason;
    }
    if (!test::kIsFull && k != 1041) continue;
    const std::vector<Judged> legal = corpus.Judge(id, "legal.");
    ASSERT_FALSE(legal.empty()) << id;
    for (const Judged& one : legal) {
      EXPECT_EQ(one.verdict, Verdict::kPass) << id << " " << one.implementation << ": " << one.reason;
    }
  }
}

// The output of a plan's first call must not pass for that of later ones, with a twin or without.
TEST(Corpus, StaleOutputsAreCaught) {
  Corpus corpus;
  for (const char* id :
       {"matmul/f32/m=33,n=40,k=300/fill=normal/seed=0", "reduce/f32/shape=33x300,axes=1,kind=max/fill=normal/seed=0",
        "reduce/f32-i64/shape=33x300,axes=1,kind=argmax/fill=normal/seed=0",
        "reduce/f32-i64/shape=33x300,axes=1,kind=argmin,tie=any/fill=ramp/seed=0"}) {
    const std::vector<Judged> judged = corpus.Judge(id, "fault.stale-output-of-first-call");
    ASSERT_FALSE(judged.empty()) << id;
    EXPECT_EQ(judged[0].verdict, Verdict::kMismatch) << id << ": " << judged[0].reason;
  }
}

}  // namespace
}  // namespace assay
