// SPDX-License-Identifier: Apache-2.0
// Attention that keeps scores or probabilities in a narrower format than it declares is named after it, and after the
// order of its work; what else is wrong with attention is not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/judge/hypotheses/weaker_arithmetic.h"
#include "tests/faults/corpus_fixture.h"
#include "tests/support/full.h"

namespace assay {
namespace {

struct NarrowAttention {
  const char* implementation;
  const char* case_id;
  const char* field;
  const char* name;
};

void PrintTo(const NarrowAttention& c, std::ostream* out) {
  *out << c.implementation << " on " << c.case_id;
}

const Contract& FullAttention() {
  static const Contract contract = ParseDeclaration("f32acc;math=2;det=yes").value();
  return contract;
}

bool HoldsAsDeclared(const PreparedCase& data, const Tensor& got) {
  const ErrorMetrics metrics = Measure(data.golden(), BoundOf(data, FullAttention()), FullAttention(), got);
  return metrics.Holds() && metrics.statistic.Holds();
}

std::optional<WeakerArithmetic> ClassOf(const PreparedCase& data, const Tensor& got) {
  return FindWeakerArithmetic(*data.op, data.problem, 0, FullAttention(), data.golden(), {data.inputs, &got}, {});
}

class HypothesesOfAttention : public testing::TestWithParam<NarrowAttention> {};

TEST_P(HypothesesOfAttention, NamesNarrowIntermediatesAndTheirOrder) {
  const NarrowAttention& c = GetParam();
  Corpus corpus;
  const PreparedCase data = Corpus::Prepare(c.case_id);
  const Tensor got = corpus.Run(data.problem, data.inputs, c.implementation);
  EXPECT_FALSE(HoldsAsDeclared(data, got)) << "the declaration holds: these data show nothing";
  const auto found = ClassOf(data, got);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->field, c.field);
  EXPECT_EQ(found->name, c.name);
}

constexpr const char* kF32 = "attention/f32/b=1,h=2,l=33,s=77,d=17,dv=9/fill=normal/seed=0";
constexpr const char* kLong = "attention/f32/b=1,h=1,l=16,s=500,d=64/fill=normal/seed=0";
constexpr const char* kBF16 = "attention/bf16/b=1,h=2,l=64,s=256,d=64,causal=1/fill=normal/seed=0";
constexpr const char* kMasked =
    "attention/f16/b=2,h=4,hkv=2,l=20,s=150,d=16,mask=add,softcap=30,mask_per_head=1/fill=normal/seed=0";

INSTANTIATE_TEST_SUITE_P(
    Corpus, HypothesesOfAttention,
    testing::Values(
        NarrowAttention{"legal.flash-64-bf16-weights", kF32, "mid=bf16", "bf16 probabilities, 64 keys at a time"},
        NarrowAttention{"legal.flash-64-f16-weights", kF32, "mid=f16", "f16 probabilities, 64 keys at a time"},
        NarrowAttention{"fault.weights-in-bf16", kLong, "mid=bf16", "bf16 probabilities, 64 keys at a time"},
        NarrowAttention{"fault.weights-in-f16", kLong, "mid=f16", "f16 probabilities, 64 keys at a time"},
        NarrowAttention{"fault.weights-in-bf16", kBF16, "mid=bf16", "bf16 probabilities, 64 keys at a time"},
        NarrowAttention{"fault.weights-in-bf16", kMasked, "mid=bf16", "bf16 probabilities, 64 keys at a time"},
        NarrowAttention{"fault.exp-to-bf16", kF32, "mid=bf16",
                        "bf16 probabilities, divided by the sum of the rounded ones"},
        NarrowAttention{"fault.scores-in-bf16", kF32, "mid=bf16", "bf16 scores"},
        NarrowAttention{"fault.scores-in-f16", kLong, "mid=f16", "f16 scores"},
        NarrowAttention{"legal.materialised-bf16", kF32, "mid=bf16",
                        "bf16 scores, and probabilities after the division"},
        NarrowAttention{"legal.materialised-f16", kMasked, "mid=f16",
                        "f16 scores, and probabilities after the division"}));

// One value that is off by a part of the others, beside probabilities in bf16.
TEST(HypothesesOfAttentionAlone, RoundedProbabilitiesWithAWrongElementAreNoClass) {
  Corpus corpus;
  for (const char* id : {kF32, kLong}) {
    const PreparedCase data = Corpus::Prepare(id);
    Tensor got = corpus.Run(data.problem, data.inputs, "fault.weights-in-bf16");
    ASSERT_TRUE(ClassOf(data, got)) << id;
    got.As<float>()[100] += 0.02f;  // beside values of 0.05 to 0.1 in the mean
    EXPECT_FALSE(ClassOf(data, got)) << id;
  }
}

TEST(HypothesesOfAttentionAlone, OtherFaultsAreNotNamedAfterNarrowIntermediates) {
  Corpus corpus;
  int seen = 0, first = 0;  // without --full each fault has one of the cases
  for (const char* id : {kF32, kBF16, kMasked}) {
    int turn = first++;
    const PreparedCase data = Corpus::Prepare(id);
    for (const ImplementationInfo& info : corpus.Offered(data.problem, "fault.")) {
      const auto is = [&](const char* part) { return info.name.find(part) != std::string::npos; };
      if (is("weights-in") || is("scores-in") || is("exp-to-bf16")) continue;
      if (!test::kIsFull && turn++ % 3 != 0) continue;
      const Tensor got = corpus.Run(data.problem, data.inputs, info.name);
      if (HoldsAsDeclared(data, got)) continue;
      ++seen;
      const auto found = ClassOf(data, got);
      EXPECT_FALSE(found && found->field.starts_with("mid=")) << id << " " << info.name << " " << found->name;
    }
  }
  EXPECT_GE(seen, test::kIsFull ? 80 : 27);
}

}  // namespace
}  // namespace assay
