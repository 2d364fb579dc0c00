// SPDX-License-Identifier: Apache-2.0
// Every class of the ladder is found in what a correct implementation of that class computes, when it declares plain
// f32 sums of its operands.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "harness/compare/lower_class.h"
#include "tests/faults/corpus_fixture.h"

namespace assay {
namespace {

struct Rung {
  const char* implementation;  // declares the class
  const char* case_id;         // on data that show it
  const char* field;           // of the class, as its name begins: how wide a truncating unit is is a guess
  bool positive = false;       // the data's magnitudes, so that what is cut off adds up
};

void PrintTo(const Rung& rung, std::ostream* out) {
  *out << rung.implementation << " on " << rung.case_id;
}

void TakeMagnitudes(cli::CaseData& data) {
  for (Tensor& input : data.inputs) {
    std::vector<double> values = input.ToDoubles();
    for (double& x : values) x = std::abs(x);
    input.SetDoubles(values);
  }
  data.golden = data.op->ComputeGolden(data.problem, data.inputs, data.golden.tier);
}

class Ladder : public testing::TestWithParam<Rung> {};

TEST_P(Ladder, NamesTheClassOfALegalImplementationThatDeclaresMore) {
  const Rung& rung = GetParam();
  Corpus corpus;
  cli::CaseData data = Corpus::Prepare(rung.case_id);
  if (rung.positive) TakeMagnitudes(data);
  const Contract declared = ParseDeclaration("f32acc;det=yes").value();
  const Tensor got = corpus.Run(data.problem, data.inputs, rung.implementation);
  const ErrorMetrics metrics = Measure(data.golden, cli::BoundOf(data, declared), declared, got);
  EXPECT_FALSE(metrics.Holds() && metrics.statistic.Holds()) << "the declaration holds: these data show nothing";
  const auto found = FindLowerClass(*data.op, data.problem, declared, data.golden, {data.inputs, &got}, {});
  ASSERT_TRUE(found) << metrics.statistic.reason;
  EXPECT_TRUE(found->field.starts_with(rung.field)) << found->field;
}

INSTANTIATE_TEST_SUITE_P(
    Corpus, Ladder,
    testing::Values(
        Rung{"legal.f16-operands-flushed", "matmul/f16-f16-f32/m=64,n=64,k=512/fill=normal/seed=0", "ftz=in"},
        Rung{"legal.output-toward-zero", "matmul/bf16/m=64,n=64,k=512/fill=normal/seed=0", "out=rz"},
        Rung{"legal.hopper-fused-16", "matmul/f16-f16-f32/m=32,n=32,k=1024/fill=near_one/seed=0", "acc=tc<25,16>"},
        Rung{"legal.ampere-fused-8", "matmul/f16-f16-f32/m=32,n=32,k=1024/fill=near_one/seed=0", "acc=tc<"},
        Rung{"legal.volta-fused-4", "matmul/f16-f16-f32/m=32,n=32,k=1024/fill=near_one/seed=0", "acc=tc<"},
        Rung{"legal.bf16x3", "matmul/f32/m=32,n=32,k=256/fill=normal/seed=0", "in=bf16x3"},
        Rung{"legal.tf32-rounded", "matmul/f32/m=32,n=32,k=256/fill=normal/seed=0", "in=tf32rn"},
        Rung{"legal.tf32-truncated", "matmul/f32/m=32,n=32,k=256/fill=normal/seed=0", "in=tf32rz"},
        Rung{"legal.hopper-fp8", "matmul/e4m3-e4m3-f32/m=32,n=32,k=512/fill=normal/seed=0", "acc=tc<13,32>", true},
        Rung{"legal.f16-accumulator", "matmul/f16-f16-f32/m=32,n=32,k=256/fill=normal/seed=0", "acc=f16"},
        Rung{"legal.bf16-operands", "matmul/f32/m=32,n=32,k=256/fill=normal/seed=0", "in=bf16"},
        Rung{"legal.bf16-accumulator", "matmul/bf16-bf16-f32/m=32,n=32,k=256/fill=normal/seed=0", "acc=bf16"},
        Rung{"legal.scaled-e4m3-operands", "matmul/f32/m=32,n=32,k=256/fill=normal/seed=0", "in=fp8"}));

}  // namespace
}  // namespace assay
