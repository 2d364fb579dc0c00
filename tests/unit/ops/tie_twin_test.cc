// SPDX-License-Identifier: Apache-2.0
// Twins whose sums are ties: what rounds them any other way than to even is seen, on outputs of every format that the
// accumulator is wider than.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "ops/exact_ties.h"
#include "tests/support/operator_cases.h"

namespace assay {
namespace {

using test::Bind;
using test::Declared;
using test::Op;

std::optional<Twin> TieTwinOf(const std::string& id, const char* contract) {
  const Problem problem = Bind(id);
  const Contract declared = Declared(contract);
  if (Op(problem.spec.op).TwinVariants(problem, declared) <= kTieVariant) return std::nullopt;
  return Op(problem.spec.op).MakeTwin(problem, declared, kTieVariant);
}

struct Wrong {
  int64_t away = 0, toward_zero = 0, up = 0, even = 0;
};

// Outputs that are wrong when the exact sums are rounded with ties as named.
Wrong CountWrong(const std::string& id, const Twin& twin) {
  const Problem problem = Bind(id);
  const DType out = problem.output().dtype;
  const Golden golden = Op(problem.spec.op).ComputeGolden(problem, twin.inputs, Tier::kReproducible);
  Wrong wrong;
  for (int64_t i = 0; i < golden.size(); ++i) {
    const double y = golden.value[static_cast<size_t>(i)], half = UlpAt(FormatOf(out), y) / 2;
    EXPECT_NE(RoundTo(FormatOf(out), y), y) << id << " element " << i << " is no tie";
    EXPECT_EQ(std::fmod(std::abs(y), 2 * half), half) << id << " element " << i;
    const auto is_wrong = [&](double got) { return test::Accepts(twin, out, i, got) ? 0 : 1; };
    wrong.even += is_wrong(RoundTo(FormatOf(out), y));
    wrong.away += is_wrong(y + std::copysign(half, y));
    wrong.toward_zero += is_wrong(y - std::copysign(half, y));
    wrong.up += is_wrong(y + half);
  }
  return wrong;
}

TEST(TieTwin, ShowsEveryOtherBreakingOfTies) {
  for (const char* id :
       {"matmul/bf16/m=5,n=7,k=64/fill=normal/seed=0", "matmul/f16/m=4,n=4,k=2/fill=normal/seed=0",
        "matmul/f16/b=2,m=5,n=7,k=33,alpha=-1,beta=1,bias=1,transa=1,transb=1/fill=normal/seed=0",
        "matmul/bf16/m=4,n=4,k=64,bias=1,epilogue=rounded/fill=normal/seed=0",
        "matmul/f32-f32-bf16/m=4,n=4,k=17/fill=normal/seed=0", "reduce/bf16/shape=6x4096,axes=1/fill=normal/seed=0",
        "reduce/f16/shape=3x9x4,axes=0+2/fill=normal/seed=0"}) {
    const Result<Problem> problem = test::TryBind(id);
    if (!problem) continue;  // types that the operator does not have
    const auto twin = TieTwinOf(id, "f32acc");
    ASSERT_TRUE(twin) << id;
    const Wrong wrong = CountWrong(id, *twin);
    EXPECT_EQ(wrong.even, 0) << id;
    EXPECT_GT(wrong.away, 0) << id;
    EXPECT_GT(wrong.toward_zero, 0) << id;
    EXPECT_GT(wrong.up, 0) << id;
  }
}

TEST(TieTwin, OnlyWhereTiesGoToEven) {
  const std::string id = "matmul/f16/m=4,n=4,k=64/fill=normal/seed=0";
  EXPECT_TRUE(TieTwinOf(id, "f32acc"));
  for (const char* contract : {"f32acc;out=rz", "f32acc;out=any", "f16acc", "f32acc;mid=f16", "acc=tc<11,4>"}) {
    EXPECT_FALSE(TieTwinOf(id, contract)) << contract;
  }
  EXPECT_FALSE(TieTwinOf("matmul/f32/m=4,n=4,k=64/fill=normal/seed=0", "f32"));
  EXPECT_FALSE(TieTwinOf("matmul/f16/m=4,n=4,k=64,alpha=0.5/fill=normal/seed=0", "f32acc"));
  EXPECT_FALSE(TieTwinOf("matmul/f16/m=4,n=4,k=1/fill=normal/seed=0", "f32acc"));
  EXPECT_FALSE(TieTwinOf("reduce/f16/shape=4x64,axes=1,kind=mean/fill=normal/seed=0", "f32acc"));
}

}  // namespace
}  // namespace assay
