// SPDX-License-Identifier: Apache-2.0
// conv: shapes and errors, golden values against MPFR and exact integers, its flops.
#include "ops/conv/conv.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "ops/binding.h"
#include "tests/support/mpfr.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/conv.h"

namespace assay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ConvBind, ShapesFollowTheAttributes) {
  const Problem resnet = Bind("conv/f32/n=2,c=3,o=64,i=224x224,k=7x7,stride=2,pad=3/fill=normal/seed=0");
  EXPECT_THAT(resnet.inputs[0].shape, ElementsAre(2, 3, 224, 224));
  EXPECT_THAT(resnet.inputs[1].shape, ElementsAre(64, 3, 7, 7));
  EXPECT_THAT(resnet.outputs[0].shape, ElementsAre(2, 64, 112, 112));
  EXPECT_EQ(resnet.flops, 2.0 * 2 * 64 * 112 * 112 * 3 * 49);
  EXPECT_THAT(resnet.List("stride"), ElementsAre(2, 2)) << "backends see one number per axis";

  const Problem grouped = Bind(
      "conv/bf16-bf16-f32/n=1,c=6,o=4,i=9x8x7,k=3x1x2,stride=2x1x3,pad=1x0x1,dilation=2x1x1,groups=2,bias=1"
      "/fill=normal/seed=0");
  EXPECT_THAT(grouped.inputs[1].shape, ElementsAre(4, 3, 3, 1, 2));
  EXPECT_THAT(grouped.outputs[0].shape, ElementsAre(1, 4, 4, 8, 3));
  ASSERT_EQ(grouped.inputs.size(), 3u);
  EXPECT_THAT(grouped.inputs[2].shape, ElementsAre(4));
  EXPECT_EQ(grouped.inputs[2].dtype, DType::kF32);

  EXPECT_THAT(Bind("conv/f32/n=1,c=2,o=3,i=10,k=3,pad=1/fill=normal/seed=0").outputs[0].shape, ElementsAre(1, 3, 10));
}

TEST(ConvBind, TapsOnPaddingNeedNotBeComputed) {
  const auto fewest = [](const char* attrs) {
    const Problem problem = Bind(std::string("conv/f32/n=2,c=3,o=4,") + attrs + "/fill=normal/seed=0");
    return OperatorRegistry::Global().Find("conv")->TraitsOf(problem, 0).fewest_flops / problem.flops;
  };
  EXPECT_EQ(fewest("i=8x8,k=3"), 1);
  EXPECT_DOUBLE_EQ(fewest("i=1x1,k=3,pad=1"), 1.0 / 9);  // the middle one alone sees
  EXPECT_DOUBLE_EQ(fewest("i=4,k=3,pad=1"), 10.0 / 12);  // one at each end does not
  EXPECT_DOUBLE_EQ(fewest("i=4,k=3,pad=2,dilation=2"), 8.0 / 12);
}

struct BadConvCase {
  const char* id;
  const char* message;
};
class ConvBadCases : public testing::TestWithParam<BadConvCase> {};

TEST_P(ConvBadCases, AreUsageErrorsThatSayWhy) {
  const Result<Problem> problem = TryBind(std::string(GetParam().id) + "/fill=normal/seed=0");
  ASSERT_FALSE(problem.has_value()) << GetParam().id;
  EXPECT_EQ(problem.error().code, ErrorCode::kUsage);
  EXPECT_THAT(problem.error().message, HasSubstr(GetParam().message)) << GetParam().id;
}

INSTANTIATE_TEST_SUITE_P(
    Conv, ConvBadCases,
    testing::Values(BadConvCase{"conv/f32/n=1,c=2,o=2,k=3", "i"},  //
                    BadConvCase{"conv/f32/n=1,c=2,o=2,i=4x4x4x4,k=3", "1 to 3"},
                    BadConvCase{"conv/f32/n=1,c=2,o=2,i=8x8,k=3x3x3", "i=8x8 has 2"},
                    BadConvCase{"conv/f32/n=1,c=2,o=2,i=8x8,k=3,pad=1x1x1", "pad=1x1x1 has 3 axes"},
                    BadConvCase{"conv/f32/n=1,c=2,o=2,i=8x8,k=3,stride=0", "stride=0 of axis 0 must be at least 1"},
                    BadConvCase{"conv/f32/n=1,c=2,o=2,i=8x5,k=3,dilation=3,pad=0", "i must be at least 7"},
                    BadConvCase{"conv/f32/n=-1,c=2,o=2,i=8,k=3", "n=-1 must not be negative"},
                    BadConvCase{"conv/f32/n=1,c=3,o=2,i=8,k=3,groups=2", "c=3 must be a multiple of groups=2"},
                    BadConvCase{"conv/f32/n=1,c=2,o=3,i=8,k=3,groups=2", "[o, c/groups, kernel]"},
                    BadConvCase{"conv/f32/n=1,c=2,o=2,i=8,k=3,bias=2", "bias=2"},
                    BadConvCase{"conv/f16-bf16-f32/n=1,c=2,o=2,i=8,k=3", "x is f16 and w is bf16"},
                    BadConvCase{"conv/f32-f32-f16/n=1,c=2,o=2,i=8,k=3", "no convolution of f32 with output f16"},
                    BadConvCase{"conv/i8/n=1,c=2,o=2,i=8,k=3", "i8-i8-i32"},
                    BadConvCase{"conv/i8-i8-i32/n=1,c=2,o=2,i=8,k=3,bias=1", "bias=1 must be 0"},
                    BadConvCase{"conv/i8-i8-i32/n=1,c=65536,o=1,i=8,k=3", "at most 131071"}));

// |value + value_lo - exact|.
double ErrorOf(const Golden& golden, int64_t i, std::span<const double> a, std::span<const double> b, double bias) {
  Mpfr sum(bias);
  for (size_t k = 0; k < a.size(); ++k) sum.AddProduct(a[k], b[k]);
  return sum.DistanceFrom(golden.value[i], golden.value_lo.empty() ? 0 : golden.value_lo[i]);
}

constexpr const char* kConvShapes[] = {"n=2,c=3,o=4,i=9x7,k=3x3,pad=1",
                                       "n=1,c=4,o=6,i=11x8,k=3x2,stride=2x3,pad=2x1,dilation=2x1,groups=2,bias=1",
                                       "n=2,c=5,o=2,i=17,k=4,stride=3,pad=3,bias=1",
                                       "n=1,c=4,o=8,i=6x5,k=1x1,groups=4",
                                       "n=1,c=2,o=3,i=4x5x6,k=2x3x3,pad=0x1x2,stride=1x2x1",
                                       "n=1,c=3,o=2,i=8x8,k=3,pad=2,dilation=2",
                                       "n=1,c=2,o=2,i=1x1,k=3,pad=1",
                                       "n=1,c=2,o=2,i=4x3,k=1,pad=2,stride=2x1,bias=1",
                                       "n=1,c=2,o=2,i=2,k=2,dilation=4,pad=9"};

TEST(ConvBind, OutputsOfPaddingAlone) {
  const auto alone = [](const char* attrs) {
    const ConvArgs op(Bind(fmt::format("conv/f32/n=1,c=1,o=1,{}/fill=normal/seed=0", attrs)));
    std::string text;
    for (int64_t p = 0; p < op.Positions(); ++p) text += op.SeesPaddingAlone(p) ? '0' : 'x';
    return text;
  };
  EXPECT_EQ(alone("i=3,k=3,pad=2"), "xxxxx");
  EXPECT_EQ(alone("i=2,k=1,pad=3"), "000xx000");
  EXPECT_EQ(alone("i=1,k=2,dilation=3,pad=3"), "x00x");
  EXPECT_EQ(alone("i=1x2,k=1,pad=1"), "00000xx00000");
}

TEST(ConvGolden, AgreesWithMpfr) {
  for (const char* dtypes : {"f64", "f32", "f16", "bf16", "f16-f16-f32", "bf16-bf16-f32"}) {
    for (const char* shape : kConvShapes) {
      for (const char* fill : {"normal", "cancel-1e6", "subnormal", "lognormal"}) {
        for (Tier tier : {Tier::kFast, Tier::kReproducible}) {
          const Problem problem = Bind(fmt::format("conv/{}/{}/fill={}/seed=1", dtypes, shape, fill));
          SCOPED_TRACE(problem.spec.Id());
          const std::vector<Tensor> inputs = Op("conv").MakeInputs(problem);
          const Golden golden = Op("conv").ComputeGolden(problem, 0, inputs, tier);
          ASSERT_EQ(golden.shape, problem.outputs[0].shape);
          const int64_t size = NumElements(golden.shape);
          for (int64_t i = 0; i < size; i += 1 + size / 37) {
            std::vector<double> a, b;
            double magnitude = 0;
            for (const ConvProduct& product : ProductsOf(problem, i)) {
              if (product.x < 0) continue;
              a.push_back(ValueAt(inputs[0], product.x)), b.push_back(ValueAt(inputs[1], product.w));
              magnitude += std::abs(a.back() * b.back());
            }
            const double bias = inputs.size() > 2 ? ValueAt(inputs[2], ChannelOf(problem, i)) : 0;
            magnitude += std::abs(bias);
            ASSERT_LE(ErrorOf(golden, i, a, b, bias), golden.error[i]) << i;
            ASSERT_GE(golden.magnitude[i], magnitude * (1 - 1e-12)) << i;
            ASSERT_LE(golden.magnitude[i], magnitude * 1.001 + 1e-40) << i;
            ASSERT_LE(golden.error[i], 1e-12 * magnitude + 1e-40);
          }
        }
      }
    }
  }
}

TEST(ConvGolden, IntegersAreExact) {
  for (const char* shape : {"n=2,c=6,o=4,i=9x7,k=3x3,pad=1,stride=2,groups=2", "n=1,c=4,o=4,i=20,k=5,dilation=3,pad=6",
                            "n=1,c=2,o=3,i=4x5x6,k=2x3x3,pad=0x1x2"}) {
    const Problem problem = Bind(fmt::format("conv/i8-i8-i32/{}/fill=uniform/seed=0", shape));
    const std::vector<Tensor> inputs = Op("conv").MakeInputs(problem);
    const Golden golden = Op("conv").ComputeGolden(problem, 0, inputs, Tier::kFast);
    EXPECT_TRUE(golden.exact);
    EXPECT_EQ(golden.value, IntegerConv(problem, inputs)) << shape;
  }
}

// Large enough for several tiles of patches.
TEST(ConvGolden, TilesJoinWithoutSeams) {
  const Problem problem = Bind("conv/i8-i8-i32/n=2,c=32,o=2,i=120x130,k=3x3,pad=1,groups=2/fill=uniform/seed=3");
  const std::vector<Tensor> inputs = Op("conv").MakeInputs(problem);
  EXPECT_EQ(Op("conv").ComputeGolden(problem, 0, inputs, Tier::kFast).value, IntegerConv(problem, inputs));
}

// The identity kernel returns its input; a kernel with one tap off the centre, the input's neighbour to that side.
TEST(ConvGolden, IsACrossCorrelation) {
  const Problem problem = Bind("conv/f32/n=1,c=1,o=1,i=3x3,k=3x3,pad=1/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("conv").MakeInputs(problem);
  inputs[0].SetDoubles(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  inputs[1].SetDoubles(std::vector<double>{0, 0, 0, 0, 0, 1, 0, 0, 0});
  EXPECT_THAT(Op("conv").ComputeGolden(problem, 0, inputs, Tier::kFast).value, ElementsAre(2, 3, 0, 5, 6, 0, 8, 9, 0));
}

TEST(ConvGolden, AnInfiniteWeightIsSkippedInThePaddingAlone) {
  const Problem problem = Bind("conv/f32/n=1,c=1,o=2,i=4,k=3,pad=1/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("conv").MakeInputs(problem);
  inputs[0].SetDoubles(std::vector<double>{1, 1, 1, 1});
  inputs[1].SetDoubles(std::vector<double>{INFINITY, 1, 1, 1, 1, 1});
  const Golden golden = Op("conv").ComputeGolden(problem, 0, inputs, Tier::kFast);
  EXPECT_EQ(golden.value[0], 2);  // its first tap is padding: NaN or 2, as the kernel treats it
  ASSERT_NE(golden.Extra("padded_nonfinite"), nullptr);
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ((*golden.Extra("padded_nonfinite"))[i], i == 0 ? 1 : 0) << i;
  for (int64_t i = 1; i < 4; ++i) EXPECT_EQ(golden.value[i], INFINITY) << i;
  for (int64_t i = 0; i < 8; ++i) EXPECT_LT(golden.error[i], 1e-6) << i;
}

}  // namespace
}  // namespace assay::test
