// SPDX-License-Identifier: Apache-2.0
// No correct schedule fails in the class that it declares, whatever the data.
#include <gtest/gtest.h>

#include <ostream>

#include "tests/faults/corpus_checks.h"

namespace assay {
namespace {

struct Family {
  const char* name;
  const char* problem;             // operator, dtypes and attributes of an id
  std::vector<const char*> fills;  // each with a seed, or three in the long tests
  size_t schedules;                // that the corpus has for it, at least
};

void PrintTo(const Family& family, std::ostream* out) {
  *out << family.problem;
}

class Legal : public testing::TestWithParam<Family> {};

TEST_P(Legal, PassesInItsClass) {
  ExpectLegalSchedulesPass(GetParam().problem, GetParam().fills, GetParam().schedules);
}

const std::vector<const char*> kEveryFill = {"normal", "uniform", "outlier", "special", "subnormal"};

INSTANTIATE_TEST_SUITE_P(
    Corpus, Legal,
    testing::Values(
        Family{"MatmulF32", "matmul/f32/m=33,n=40,k=300", kEveryFill, 16},
        Family{"MatmulOfManyTerms", "matmul/f32/m=32,n=32,k=2048", {"normal", "lognormal", "cancel-1e4"}, 16},
        Family{"ConvOfManyTerms", "conv/f32/n=1,c=228,o=4,i=14x14,k=3x3,pad=1", {"normal"}, 8},
        Family{"SumOfManyTerms", "reduce/f32/shape=64x4096,axes=1,kind=sum", {"normal", "outlier"}, 8},
        Family{"MatmulF16", "matmul/f16/m=33,n=40,k=300", kEveryFill, 18},
        Family{"MatmulF16ToF32", "matmul/f16-f16-f32/m=20,n=24,k=512", kEveryFill, 17},
        Family{"MatmulBF16ToF32", "matmul/bf16-bf16-f32/m=20,n=24,k=512", kEveryFill, 17},
        Family{"MatmulE4M3ToF32", "matmul/e4m3-e4m3-f32/m=20,n=24,k=512", kEveryFill, 12},
        Family{"MatmulE5M2ToBF16", "matmul/e5m2-e5m2-bf16/m=20,n=24,k=130", {"normal", "uniform"}, 12},
        Family{"MatmulF64", "matmul/f64/m=17,n=9,k=130", {"normal", "cancel-1e6"}, 10},
        Family{"MatmulI8", "matmul/i8-i8-i32/m=17,n=9,k=130", {"uniform", "special"}, 10},
        Family{"MatmulI8Square", "matmul/i8-i8-i32/m=64,n=64,k=64", {"special"}, 10},
        Family{"MatmulEpilogue", "matmul/bf16/m=9,n=20,k=77,alpha=1.25,beta=0.5,bias=1", {"normal"}, 18},
        Family{"Sum", "reduce/f32/shape=33x300,axes=1,kind=sum", kEveryFill, 8},
        Family{"SumOfF16", "reduce/f16/shape=33x300,axes=1,kind=sum", kEveryFill, 8},
        Family{"Mean", "reduce/bf16-f32/shape=300x33,axes=0,kind=mean", kEveryFill, 9},
        Family{"L2", "reduce/f32/shape=33x300,axes=1,kind=l2", kEveryFill, 8},
        Family{"Prod", "reduce/f32/shape=33x300,axes=1,kind=prod", {"near_one", "normal"}, 7},
        Family{"LogSumExp", "reduce/f32/shape=33x300,axes=1,kind=logsumexp", kEveryFill, 8},
        Family{"Max", "reduce/bf16/shape=33x300,axes=1,kind=max", kEveryFill, 6},
        Family{"ArgMin", "reduce/f32-i64/shape=33x300,axes=1,kind=argmin", {"normal", "special", "ramp"}, 6}),
    [](const auto& family) { return family.param.name; });

}  // namespace
}  // namespace assay
