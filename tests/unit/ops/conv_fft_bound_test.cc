// SPDX-License-Identifier: Apache-2.0
// No convolution by transforms leaves the bound of alg=fft, whatever its tiles; and what that bound still catches.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "tests/support/full.h"
#include "tests/support/simulate/conv.h"
#include "tests/unit/ops/conv_judged.h"

namespace assay::test {
namespace {

// Transforms of any tile, in images with strides, dilation, groups and gaps. The largest share of the bound says how
// loose it is; cuDNN's on an H100 come to some thousandths of it.
TEST(ConvFftBound, HoldsForItsAlgorithm) {
  constexpr const char* kShapes[] = {"n=1,c=3,o=2,i=6x7,k=3x3,pad=1",
                                     "n=2,c=8,o=4,i=9x5,k=3x2,stride=2x1,groups=2,bias=1", "n=1,c=1,o=2,i=64,k=7,pad=3",
                                     "n=1,c=2,o=2,i=5x4x3,k=2x3x2,dilation=2x1x1,pad=1"};
  const std::pair<const char*, const char*> types[] = {{"f32", "acc=f32;alg=fft"}, {"f32", "acc=f32;alg=fft;ftz=all"},
                                                       {"f64", "acc=f64;alg=fft"}, {"bf16", "acc=f32;alg=fft"},
                                                       {"f16", "acc=f16;alg=fft"}, {"f16-f16-f32", "acc=f32;alg=fft"}};
  for (const auto& [dtypes, contract] : types) {
    ConvTally tally;
    uint64_t seed = 0;
    for (const char* fill : kConvFills) {
      for (const char* shape : kShapes) {
        const std::string id = fmt::format("conv/{}/{}/fill={}/seed={}", dtypes, shape, fill, seed++);
        SCOPED_TRACE(id + " " + contract);
        const Judged judged(id, contract);
        const Arithmetic unit = ArithmeticOf(judged.contract);
        uint64_t turn = seed;
        for (const int64_t tile : {0, 4, 16}) {
          for (const Divided divided : {Divided::kKernel, Divided::kSum, Divided::kResult}) {
            if (!kIsFull && turn++ % 4 != 0) continue;
            judged.Check(RunFftConv(judged.problem, judged.inputs, tile, divided, unit), tally);
          }
        }
        judged.CheckEdges(tally);
        ++tally.tensors;
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(tally.pushed, 1000);
    EXPECT_EQ(tally.freed, 0);
    EXPECT_GT(tally.closest, 2e-4) << "a bound many thousands of times too wide says nothing";
    fmt::print("{} {}: {} tensors, largest error {:.3f} of the bound\n", dtypes, contract, tally.tensors,
               tally.closest);
  }
}

// An infinity or NaN may spread over its tile as infinity or NaN, but every finite result must be right.
TEST(ConvFftBound, SpecialValuesSpreadButNoNumberBesideThemIsWrong) {
  ConvTally tally;
  int64_t finite = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Judged judged(fmt::format("conv/f32/n=1,c=2,o=2,i=8x8,k=3x3,pad=1/fill=special/seed={}", seed),
                        "acc=f32;alg=fft");
    for (const int64_t tile : {0, 4}) {
      judged.Check(RunFftConv(judged.problem, judged.inputs, tile, Divided::kResult, ArithmeticOf(judged.contract)),
                   tally);
      if (HasFailure()) return;
    }
    for (int64_t i = 0; i < judged.golden.size(); ++i) {
      if (!std::isfinite(judged.golden.value[i])) continue;
      const double limit = judged.bound.LargestToleranceAt(judged.golden, i);
      EXPECT_FALSE(judged.Holds(i, judged.golden.value[i] + 1.05 * limit)) << "element " << i;
      ++finite;
    }
  }
  EXPECT_GT(finite, 100);
}

// Products that underflow each by itself, as the kernel has been divided by the number of points before.
TEST(ConvFftBound, HoldsWhereEveryProductUnderflows) {
  Judged judged("conv/f32/n=1,c=64,o=1,i=8x8,k=1x1/fill=normal/seed=0", "acc=f32;alg=fft;ftz=all");
  const double tiny = std::sqrt(0.9 * 1024 * 0x1p-126);
  for (Tensor& input : judged.inputs) std::ranges::fill(input.As<float>(), 0.0F);
  for (int64_t c = 0; c < 64; ++c) {
    judged.inputs[0].As<float>()[static_cast<size_t>(64 * c)] = static_cast<float>(tiny);
    judged.inputs[1].As<float>()[static_cast<size_t>(c)] = static_cast<float>(tiny);
  }
  judged.golden = Op("conv").ComputeGolden(judged.problem, 0, judged.inputs, Tier::kFast);
  const DeclaredBound bound = BoundOf(judged.problem, judged.golden, judged.contract);
  EXPECT_GT(judged.golden.value[0], 1e-36);
  EXPECT_TRUE(Accepts(bound, judged.golden, 0, 0));
}

TEST(ConvFftBound, CatchesADroppedChannel) {
  EXPECT_GE(ShareWithoutAChannelCaught("acc=f32;alg=fft"), 0.98);
}

// A small output beside large ones is off by what the large ones cost, which the bound of plain sums does not know.
TEST(ConvFftBound, TheDirectBoundRejectsIt) {
  const std::string id = "conv/f32/n=1,c=1,o=4,i=63,k=1/fill=normal/seed=0";
  const Judged direct(id, "acc=f32"), transformed(id, "acc=f32;alg=fft");
  const std::vector<double> got =
      RunFftConv(direct.problem, direct.inputs, 0, Divided::kResult, ArithmeticOf(transformed.contract));
  int64_t beyond = 0;
  for (int64_t i = 0; i < direct.golden.size(); ++i) {
    EXPECT_TRUE(transformed.Holds(i, got[i])) << i;
    beyond += direct.Holds(i, got[i]) ? 0 : 1;
  }
  EXPECT_GT(beyond, direct.golden.size() / 4);
}

Status CheckFloats(const char* op, const char* declaration) {
  return CheckDeclared(Op(op), {DType::kF32}, Declared(declaration));
}

TEST(Algorithms, OfOtherOperatorsAreRefused) {
  const Status conv = CheckFloats("conv", "acc=f32;alg=bluestein");
  ASSERT_FALSE(conv);
  EXPECT_NE(conv.error().message.find("alg=direct or alg=winograd or alg=fft"), std::string::npos)
      << conv.error().message;
  for (const char* op : {"matmul", "reduce", "softmax", "attention"}) {
    EXPECT_FALSE(CheckFloats(op, "acc=f32;alg=fft")) << op;
    EXPECT_TRUE(CheckFloats(op, "acc=f32")) << op;
  }
}

TEST(Algorithms, OfWinogradThereAreTwoTransforms) {
  EXPECT_TRUE(CheckFloats("conv", "acc=f32;alg=winograd<2,3>"));
  EXPECT_TRUE(CheckFloats("conv", "acc=f32;alg=winograd<4,3>"));
  for (const char* unknown : {"acc=f32;alg=winograd<4,5>", "acc=f32;alg=winograd<6,3>"}) {
    const Status status = CheckFloats("conv", unknown);
    ASSERT_FALSE(status) << unknown;
    EXPECT_NE(status.error().message.find("winograd<2,3> and winograd<4,3>"), std::string::npos);
  }
}

TEST(Declarations, OfSumsInIntegersAreForIntegers) {
  const Status floats = CheckFloats("matmul", "acc=i32");
  ASSERT_FALSE(floats);
  EXPECT_NE(floats.error().message.find("operands of this matmul are f32"), std::string::npos)
      << floats.error().message;
  EXPECT_TRUE(CheckDeclared(Op("matmul"), {DType::kI8, DType::kI32}, Declared("acc=i32")));
}

}  // namespace
}  // namespace assay::test
