// SPDX-License-Identifier: Apache-2.0
// No correct convolution leaves its hard bound, whatever its algorithm, order and accumulator; anything beyond does.
#include <fmt/format.h>

#include <algorithm>

#include "tests/support/full.h"
#include "tests/support/simulate/conv.h"
#include "tests/unit/ops/conv_judged.h"

namespace assay::test {
namespace {

void CheckDirect(const std::string& id, const char* declaration, ConvTally& tally) {
  SCOPED_TRACE(id + " " + declaration);
  const Judged judged(id, declaration);
  ++tally.tensors;
  for (const Schedule& schedule : AllSchedules(judged.problem.spec.seed)) {
    for (Padding padding : {Padding::kSkipped, Padding::kMultiplied}) {
      judged.Check(RunConv(judged.problem, judged.inputs, schedule, ArithmeticOf(judged.contract), padding), tally);
      if (testing::Test::HasFailure()) return;
    }
  }
  judged.CheckEdges(tally);
}

struct ConvTypeCase {
  const char* dtypes;
  std::vector<const char*> contracts;
};

constexpr const char* kConvBoundShapes[] = {
    "n=1,c=3,o=2,i=5x4,k=3x3,pad=1", "n=1,c=4,o=4,i=7x5,k=3x2,stride=2x3,pad=2x1,dilation=2x1,groups=2,bias=1",
    "n=1,c=3,o=2,i=3x2,k=1,pad=1,bias=1", "n=2,c=20,o=2,i=6,k=5,pad=2", "n=1,c=1,o=1,i=3x3x3,k=2,bias=1"};

TEST(ConvBound, HoldsForEveryScheduleFillAndType) {
  const std::vector<ConvTypeCase> types = {{"f64", {"acc=f64"}},
                                           {"f32", {"acc=f32", "acc=f32;ftz=all"}},
                                           {"f16", {"acc=f32", "acc=f16;ftz=all"}},
                                           {"bf16", {"acc=f32", "acc=f32;ftz=all"}},
                                           {"f16-f16-f32", {"acc=f32"}},
                                           {"bf16-bf16-f32", {"acc=f32"}}};
  ConvTally tally;
  uint64_t seed = 0;
  for (const ConvTypeCase& type : types) {
    for (const char* contract : type.contracts) {
      for (const char* fill : kConvFills) {
        for (const char* shape : kConvBoundShapes) {
          CheckDirect(fmt::format("conv/{}/{}/fill={}/seed={}", type.dtypes, shape, fill, seed++), contract, tally);
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(tally.pushed, 1000);
  EXPECT_GT(tally.closest, 0.5);
  fmt::print("conv: {} tensors, largest error {:.3f} of the bound\n", tally.tensors, tally.closest);
}

TEST(ConvBound, SpecialValuesFollowIeeeRulesWithOrWithoutPaddedProducts) {
  ConvTally tally;
  for (const ConvTypeCase& type :
       {ConvTypeCase{"f32", {"acc=f32", "acc=f32;ftz=all"}}, ConvTypeCase{"f16", {"acc=f32"}},
        ConvTypeCase{"bf16", {"acc=f32"}}, ConvTypeCase{"f64", {"acc=f64"}}}) {
    for (const char* contract : type.contracts) {
      for (uint64_t seed = 0; seed < 20; ++seed) {
        CheckDirect(fmt::format("conv/{}/{}/fill=special/seed={}", type.dtypes, kConvBoundShapes[seed % 4], seed),
                    contract, tally);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(ConvBound, IntegersAreExact) {
  ConvTally tally;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    CheckDirect(fmt::format("conv/i8-i8-i32/n=1,c=4,o=4,i=7x5,k=3x2,pad=1,groups=2/fill=uniform/seed={}", seed),
                "acc=i32", tally);
  }
  EXPECT_EQ(tally.tensors, 5);
}

struct WinogradCase {
  const char* dtypes;
  const char* contract;
  int m;
  DType stored;
};

// All fills, many seeds, FMA or not. The largest share of the bound says how loose it is.
TEST(ConvWinogradBound, HoldsForItsAlgorithm) {
  const WinogradCase cases[] = {{"f32", "acc=f32;alg=winograd<2,3>", 2, DType::kF32},
                                {"f32", "acc=f32;alg=winograd<4,3>", 4, DType::kF32},
                                {"f32", "acc=f32;alg=winograd<4,3>;ftz=all", 4, DType::kF32},
                                {"f64", "acc=f64;alg=winograd<2,3>", 2, DType::kF64},
                                {"f64", "acc=f64;alg=winograd<4,3>", 4, DType::kF64},
                                {"bf16", "acc=f32;alg=winograd<2,3>", 2, DType::kF32},
                                {"f16", "acc=f32;alg=winograd<2,3>", 2, DType::kF32},
                                {"f16", "acc=f32;mid=f16;alg=winograd<2,3>", 2, DType::kF16},
                                {"f16-f16-f32", "acc=f32;mid=f16;alg=winograd<4,3>", 4, DType::kF16}};
  constexpr const char* kPadded[] = {"n=1,c=3,o=2,i=6x7,k=3x3,pad=1", "n=2,c=8,o=4,i=9x5,k=3,groups=2,bias=1",
                                     "n=1,c=1,o=1,i=5x5,k=3x3,pad=2x0"};
  for (const WinogradCase& w : cases) {
    ConvTally tally;
    for (const char* fill : kConvFills) {
      for (uint64_t seed = 0; seed < (kIsFull ? 12 : 3); ++seed) {  // one of each shape, at least
        const std::string id = fmt::format("conv/{}/{}/fill={}/seed={}", w.dtypes, kPadded[seed % 3], fill, seed);
        SCOPED_TRACE(id + " " + w.contract);
        const Judged judged(id, w.contract);
        ASSERT_EQ(std::ranges::any_of(judged.bound.terms,
                                      [&](const auto& term) { return term.plane == &judged.golden.magnitude; }),
                  judged.problem.inputs.size() > 2)
            << "not the direct bound";
        const Arithmetic unit = ArithmeticOf(judged.contract);
        for (bool fma : {false, true}) {
          judged.Check(RunWinograd(judged.problem, judged.inputs, w.m, fma, unit, w.stored), tally);
          if (w.m != 4) continue;
          judged.Check(RunWinograd(judged.problem, judged.inputs, 4, fma, unit, w.stored, Points::kFractions), tally);
        }
        judged.CheckEdges(tally);
        ++tally.tensors;
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(tally.pushed, kIsFull ? 1000 : 250);
    fmt::print("{} {}: {} tensors, largest error {:.3f} of the bound, {} elements free\n", w.dtypes, w.contract,
               tally.tensors, tally.closest, tally.freed);
  }
}

// A special value may spread within its tile, but not beyond it.
TEST(ConvWinogradBound, SpecialValuesStayInTheirTiles) {
  ConvTally tally;
  int64_t elements = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (int m : {2, 4}) {
      const std::string contract = fmt::format("acc=f32;alg=winograd<{},3>", m);
      const Judged judged(fmt::format("conv/f32/n=1,c=2,o=2,i=16x16,k=3x3,pad=1/fill=special/seed={}", seed),
                          contract.c_str());
      const auto unit = ArithmeticOf(judged.contract);
      judged.Check(RunWinograd(judged.problem, judged.inputs, m, false, unit, DType::kF32), tally);
      elements += judged.golden.size();
      if (HasFailure()) return;
    }
  }
  EXPECT_LT(tally.freed, elements);
}

// One dropped channel is far beyond the bound on ordinary data, so the wider contract still proves something.
TEST(ConvWinogradBound, CatchesADroppedChannel) {
  EXPECT_GE(ShareWithoutAChannelCaught("acc=f32;alg=winograd<4,3>"), 0.98);
}

// A shape for which no theory of the declared algorithm exists is held to the direct bound.
TEST(ConvWinogradBound, NoneWithoutPlanes) {
  const Judged judged("conv/f32/n=1,c=2,o=2,i=8x8,k=3x3,stride=2/fill=normal/seed=0", "acc=f32;alg=winograd<2,3>");
  ASSERT_EQ(judged.bound.terms.size(), 1u);
  EXPECT_EQ(judged.bound.terms[0].plane, &judged.golden.magnitude);
}

}  // namespace
}  // namespace assay::test
