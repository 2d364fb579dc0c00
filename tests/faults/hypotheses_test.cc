// SPDX-License-Identifier: Apache-2.0
// Every hypothesis of weaker arithmetic is found in what a correct implementation of that class computes, when it
// declares plain f32 sums of its operands.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/judge/hypotheses/weaker_arithmetic.h"
#include "tests/faults/corpus_fixture.h"

namespace assay {
namespace {

struct Rung {
  const char* implementation;  // declares the class
  const char* case_id;         // on data that show it
  const char* field;           // of the class, as its name begins: how wide a truncating unit is is a guess
  double (*change)(size_t operand, double x) = nullptr;  // makes other data of the case's
};

void PrintTo(const Rung& rung, std::ostream* out) {
  *out << rung.implementation << " on " << rung.case_id;
}

// Positive data, so that truncation errors add up.
double Magnitude(size_t, double x) {
  return std::abs(x);
}
// For f16 and sums of 512 terms: results on both sides of the smallest normal number, operands above it.
double SmallResults(size_t, double x) {
  return std::copysign(std::max(std::abs(x), 0.125), x) * 0x1p-10;
}
// Most of b is subnormal in f16; results as for SmallResults.
double SmallBoth(size_t operand, double x) {
  return x * (operand == 0 ? 0x1p-3 : 0x1p-15);
}

void Change(PreparedCase& data, double (*change)(size_t, double)) {
  for (size_t operand = 0; operand < data.inputs.size(); ++operand) {
    std::vector<double> values = data.inputs[operand].ToDoubles();
    for (double& x : values) x = change(operand, x);
    data.inputs[operand].SetDoubles(values);
  }
  data.outputs[0].golden = data.op->ComputeGolden(data.problem, 0, data.inputs, data.golden().tier);
}

class Hypotheses : public testing::TestWithParam<Rung> {};

TEST_P(Hypotheses, NamesTheClassOfALegalImplementationThatDeclaresMore) {
  const Rung& rung = GetParam();
  Corpus corpus;
  PreparedCase data = Corpus::Prepare(rung.case_id);
  if (rung.change != nullptr) Change(data, rung.change);
  const Contract declared = ParseDeclaration("f32acc;det=yes").value();
  const Tensor got = corpus.Run(data.problem, data.inputs, rung.implementation);
  const ErrorMetrics metrics = Measure(data.golden(), BoundOf(data, declared), declared, got);
  EXPECT_FALSE(metrics.Holds() && metrics.statistic.Holds()) << "the declaration holds: these data show nothing";
  const auto found = FindWeakerArithmetic(*data.op, data.problem, 0, declared, data.golden(), {data.inputs, &got}, {});
  ASSERT_TRUE(found) << metrics.statistic.reason;
  EXPECT_TRUE(found->field.starts_with(rung.field)) << found->field;
}

INSTANTIATE_TEST_SUITE_P(
    Corpus, Hypotheses,
    testing::Values(
        Rung{"legal.f16-operands-flushed", "matmul/f16-f16-f32/m=64,n=64,k=512/fill=normal/seed=0", "ftz=in",
             SmallBoth},
        Rung{"legal.results-flushed", "matmul/f16/m=64,n=64,k=512/fill=normal/seed=0", "ftz=out", SmallResults},
        Rung{"legal.cdna2-f16", "matmul/f16/m=64,n=64,k=512/fill=normal/seed=0", "ftz=all", SmallBoth},
        Rung{"legal.f16-partials", "matmul/f16-f16-f32/m=32,n=32,k=512/fill=normal/seed=0", "mid=f16"},
        Rung{"legal.f16-partials", "matmul/f16/m=64,n=64,k=512/fill=normal/seed=0", "mid=f16"},
        Rung{"legal.f16-blocks-32", "matmul/f16-f16-f32/m=32,n=32,k=300/fill=normal/seed=0", "mid=f16"},
        Rung{"legal.bf16-partials", "matmul/bf16-bf16-f32/m=32,n=32,k=512/fill=uniform/seed=0", "mid=bf16"},
        Rung{"legal.bf16-blocks-32", "matmul/bf16-bf16-f32/m=32,n=32,k=1000/fill=normal/seed=0", "mid=bf16"},
        Rung{"fault.bf16-accumulation-per-panel", "matmul/f32/m=32,n=32,k=300/fill=normal/seed=0", "mid=bf16"},
        Rung{"fault.split-k-workspace-in-f16", "matmul/f32/m=32,n=32,k=300/fill=normal/seed=0", "mid=f16"},
        Rung{"fault.bf16-accumulator", "conv/f32/n=1,c=12,o=8,i=14x13,k=3x3,pad=1/fill=normal/seed=0", "acc=bf16"},
        Rung{"legal.output-toward-zero", "matmul/bf16/m=64,n=64,k=512/fill=normal/seed=0", "out=rz"},
        Rung{"legal.hopper-fused-16", "matmul/f16-f16-f32/m=32,n=32,k=1024/fill=near_one/seed=0", "acc=tc<25,16>"},
        Rung{"legal.ampere-fused-8", "matmul/f16-f16-f32/m=32,n=32,k=1024/fill=near_one/seed=0", "acc=tc<"},
        Rung{"legal.volta-fused-4", "matmul/f16-f16-f32/m=32,n=32,k=1024/fill=near_one/seed=0", "acc=tc<"},
        Rung{"legal.bf16x3", "matmul/f32/m=32,n=32,k=256/fill=normal/seed=0", "in=bf16x3"},
        Rung{"legal.tf32-rounded", "matmul/f32/m=32,n=32,k=256/fill=normal/seed=0", "in=tf32rn"},
        Rung{"legal.tf32-truncated", "matmul/f32/m=32,n=32,k=256/fill=normal/seed=0", "in=tf32rz"},
        Rung{"legal.hopper-fp8", "matmul/e4m3-e4m3-f32/m=32,n=32,k=512/fill=normal/seed=0", "acc=tc<13,32>", Magnitude},
        Rung{"legal.f16-accumulator", "matmul/f16-f16-f32/m=32,n=32,k=256/fill=normal/seed=0", "acc=f16"},
        Rung{"legal.bf16-operands", "matmul/f32/m=32,n=32,k=256/fill=normal/seed=0", "in=bf16"},
        Rung{"legal.bf16-accumulator", "matmul/bf16-bf16-f32/m=32,n=32,k=256/fill=normal/seed=0", "acc=bf16"},
        Rung{"legal.scaled-e4m3-operands", "matmul/f32/m=32,n=32,k=256/fill=normal/seed=0", "in=fp8"}));

// Scores without their cap, or scaled by a wrong dimension, are as near to the right ones as narrow sums would be.
TEST(HypothesesOfFormulas, WrongScoresOfAttentionAreNoClass) {
  Corpus corpus;
  int seen = 0;
  for (const char* id : {"attention/f32/b=1,h=2,l=64,d=64,softcap=30/fill=normal/seed=0",
                         "attention/bf16/b=1,h=2,l=64,d=64,softcap=30/fill=normal/seed=0",
                         "attention/bf16/b=1,h=2,l=64,d=64,softcap=10/fill=normal/seed=0",
                         "attention/bf16/b=1,h=2,l=64,d=64,causal=1/fill=normal/seed=0"}) {
    const PreparedCase data = Corpus::Prepare(id);
    const Contract declared = ParseDeclaration("f32acc;math=2;det=yes").value();
    for (const char* fault : {"fault.softcap-missing", "fault.scale-of-d-plus-1"}) {
      if (corpus.Offered(data.problem, fault).empty()) continue;  // no cap
      const Tensor got = corpus.Run(data.problem, data.inputs, fault);
      const ErrorMetrics metrics = Measure(data.golden(), BoundOf(data, declared), declared, got);
      if (metrics.Holds() && metrics.statistic.Holds()) continue;  // hidden in the rounding of the output
      ++seen;
      const auto found =
          FindWeakerArithmetic(*data.op, data.problem, 0, declared, data.golden(), {data.inputs, &got}, {});
      EXPECT_FALSE(found) << id << " " << fault << " " << found->name;
    }
  }
  EXPECT_GE(seen, 4);
}

// A term that is missing from one of the elements leaves no class.
TEST(HypothesesOfPartials, RoundedPartialSumsWithAWrongElementAreNoClass) {
  Corpus corpus;
  const PreparedCase data = Corpus::Prepare("matmul/f16-f16-f32/m=32,n=32,k=512/fill=normal/seed=0");
  const Contract declared = ParseDeclaration("f32acc;det=yes").value();
  Tensor got = corpus.Run(data.problem, data.inputs, "legal.f16-partials");
  const auto found = FindWeakerArithmetic(*data.op, data.problem, 0, declared, data.golden(), {data.inputs, &got}, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "f16 sums of 2 equal parts");
  got.As<float>()[100] -= 0.2f;  // |a b| = 0.6 in the mean
  EXPECT_FALSE(FindWeakerArithmetic(*data.op, data.problem, 0, declared, data.golden(), {data.inputs, &got}, {}));
}

}  // namespace
}  // namespace assay
