// SPDX-License-Identifier: Apache-2.0
// Twins of F(4x4, 3x3): both sets of points stay within the tolerance, and a missing or doubled term shows in every
// output that has it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/binding.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/conv.h"

namespace assay::test {
namespace {

constexpr Points kPoints[] = {Points::kIntegers, Points::kFractions};

TEST(ConvWinogradTwin, EveryLegalSetOfPointsStaysWithinTheTolerance) {
  for (const char* dtypes : {"f32", "f16", "bf16", "f16-f16-f32", "f64"}) {
    const std::string declaration =
        fmt::format("acc={};alg=winograd<4,3>", std::string_view(dtypes) == "f64" ? "f64" : "f32");
    for (const char* shape : {"n=1,c=5,o=3,i=6x7,k=3x3,pad=1", "n=2,c=3,o=2,i=9x9,k=3x3,pad=1,bias=1",
                              "n=1,c=8,o=4,i=7x7,k=3x3,groups=2", "n=1,c=64,o=2,i=8x8,k=3x3,pad=1"}) {
      const Problem problem = Bind(fmt::format("conv/{}/{}/fill=normal/seed=0", dtypes, shape));
      SCOPED_TRACE(problem.spec.Id());
      const std::vector<Twin> twins = TwinsOf(problem, declaration);
      ASSERT_GE(twins.size(), 2u);
      const auto unit = ArithmeticOf(Declared(declaration));
      bool rounded = false;
      for (const Twin& twin : twins) {
        EXPECT_EQ(IntegerConv(problem, twin.inputs), twin.expected);
        for (Points points : kPoints) {
          for (bool fma : {false, true}) {
            const auto got = RunWinograd(problem, twin.inputs, 4, fma, unit, unit.format, points);
            for (int64_t i = 0; i < std::ssize(got); ++i) {
              ASSERT_TRUE(Accepts(twin, problem.outputs[0].dtype, i, got[i]));
              rounded = rounded || got[i] != twin.expected[i];
            }
          }
        }
      }
      EXPECT_TRUE(rounded) << "nothing rounds: the test shows nothing";
    }
  }
}

TEST(ConvWinogradTwin, EveryMissingOrDoubledTermIsSeen) {
  for (int64_t channels : {3, 64}) {
    const Problem problem = Bind(fmt::format("conv/f32/n=1,c={},o=1,i=4x4,k=3x3,pad=1/fill=normal/seed=0", channels));
    const std::string declaration = "acc=f32;alg=winograd<4,3>";
    const auto unit = ArithmeticOf(Declared(declaration));
    int64_t tested = 0;
    for (const Twin& twin : TwinsOf(problem, declaration)) {
      const std::vector<double> weights = twin.inputs[1].ToDoubles();
      for (int64_t k = 0; k < std::ssize(weights); ++k) {
        if (weights[k] == 0) continue;
        ++tested;
        std::vector<double> faulty = weights;
        faulty[k] *= k % 2 == 0 ? 0 : 2;
        std::vector<Tensor> inputs;
        inputs.push_back(twin.inputs[0].Clone());
        inputs.push_back(twin.inputs[1].Clone());
        inputs[1].SetDoubles(faulty);
        const auto got = RunWinograd(problem, inputs, 4, true, unit, unit.format, kPoints[k / 2 % 2]);
        for (int64_t i = 0; i < std::ssize(got); ++i) {
          const auto products = ProductsOf(problem, i);
          const bool has = std::ranges::any_of(products, [&](const ConvProduct& p) { return p.w == k && p.x >= 0; });
          ASSERT_EQ(!Accepts(twin, DType::kF32, i, got[i]), has) << k << " at " << i;
        }
      }
    }
    EXPECT_GE(tested, channels * 9);
  }
}

TEST(ConvWinogradTwin, NoneWhereATermCouldHide) {
  const auto twins = [](const char* dtypes, int64_t channels, const char* declaration) {
    return TwinsOf(Bind(fmt::format("conv/{}/n=1,c={},o=1,i=5x5,k=3x3/fill=normal/seed=0", dtypes, channels)),
                   declaration);
  };
  EXPECT_TRUE(twins("f32", 2000, "acc=f32;alg=winograd<4,3>").empty());
  EXPECT_TRUE(twins("f16", 8, "acc=f32;mid=f16;alg=winograd<4,3>").empty());
  EXPECT_TRUE(twins("f32", 8, "acc=f32;alg=winograd<6,3>").empty());
  EXPECT_EQ(twins("f32", 128, "acc=f32;alg=winograd<4,3>").size(), 4u);
  EXPECT_EQ(twins("f32", 320, "acc=f32;alg=winograd<4,3>").size(), 9u);
}

}  // namespace
}  // namespace assay::test
