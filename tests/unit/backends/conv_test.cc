// SPDX-License-Identifier: Apache-2.0
// Every conv implementation of every plugin against the textbook loop, and what the cpu backend promises exactly.
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/backends/conv_case.h"
#include "tests/unit/backends/every_plugin.h"

namespace plugin_test {
namespace {

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

class Conv : public EveryPlugin {
 protected:
  void Check(const ConvArgs& c) {
    SCOPED_TRACE(c.Text());
    Op op = c.Description();
    const auto inputs = c.Inputs();
    const auto expected = c.Reference(inputs);
    for (const Implementation& implementation : OfferedFor(op, 2, 3)) {
      SCOPED_TRACE(implementation.name + " " + implementation.contract);
      const auto got = Run(op, implementation, inputs);
      ASSERT_EQ(got.size(), expected.value.size());
      const double unit = c.out == kF64 ? kF64.unit : kF32.unit;
      // Loose, for the harness has the theory: a misplaced term is thousands of times larger.
      const double winograd =
          Contains(implementation.contract, "winograd") ? 3000 * unit * expected.largest_magnitude : 0;
      const bool through_f32 = c.out == kI32 && !Contains(implementation.contract, "acc=i32");
      for (size_t i = 0; i < got.size(); ++i) {
        const double bound = through_f32 ? std::abs(expected.value[i]) * kF32.unit : expected.bound[i] + winograd;
        ASSERT_LE(std::abs(got[i] - expected.value[i]), bound)
            << "element " << i << ": " << got[i] << " for " << expected.value[i];
      }
    }
  }
};

constexpr std::pair<Type, Type> kConvTypes[] = {{kF64, kF64},  {kF32, kF32}, {kF16, kF16}, {kBF16, kBF16},
                                                {kBF16, kF32}, {kF16, kF32}, {kI8, kI32}};

TEST_P(Conv, OneTwoAndThreeDimensions) {
  for (const auto& [in, out] : kConvTypes) {
    Check({.in = in,
           .out = out,
           .n = 2,
           .c = 3,
           .o = 5,
           .i = {19},
           .k = {4},
           .stride = {3},
           .pad = {2},
           .dilation = {1}});
    Check({.in = in, .out = out, .n = 2, .c = 3, .o = 5, .i = {9, 7}, .pad = {1, 1}});
    Check({.in = in,
           .out = out,
           .c = 2,
           .o = 3,
           .i = {4, 5, 6},
           .k = {2, 3, 3},
           .stride = {1, 2, 1},
           .pad = {0, 1, 2},
           .dilation = {2, 1, 1}});
  }
}

TEST_P(Conv, StridesDilationsAndPadding) {
  for (const auto& [in, out] : kConvTypes) {
    for (int64_t stride : {1, 2, 7}) {
      for (int64_t dilation : {1, 2}) {
        for (int64_t pad : {0, 1, 2}) {
          Check({.in = in,
                 .out = out,
                 .c = 2,
                 .o = 3,
                 .i = {6, 5},
                 .stride = {stride, 1},
                 .pad = {pad, pad},
                 .dilation = {dilation, dilation}});
          Check({.in = in,
                 .out = out,
                 .c = 2,
                 .o = 3,
                 .i = {5, 6},
                 .k = {1, 3},
                 .stride = {1, stride},
                 .pad = {0, pad},
                 .dilation = {1, dilation}});
        }
      }
    }
  }
}

TEST_P(Conv, StridesBeyondTheInput) {
  Check({.in = kF32,
         .out = kF32,
         .c = 2,
         .o = 3,
         .i = {5},
         .k = {3},
         .stride = {int64_t{1} << 62},
         .pad = {1},
         .dilation = {1}});
}

TEST_P(Conv, OutputsOfPaddingAlone) {
  for (const auto& [in, out] : kConvTypes) {
    Check({.in = in, .out = out, .c = 2, .o = 3, .i = {5, 4}, .k = {1, 1}, .stride = {1, 2}, .pad = {2, 3}});
    Check({.in = in, .out = out, .c = 2, .o = 3, .i = {2}, .k = {2}, .stride = {1}, .pad = {9}, .dilation = {4}});
    Check({.in = in, .out = out, .c = 2, .o = 3, .i = {3, 3}, .pad = {4, 6}});
  }
}

TEST_P(Conv, GroupsBiasAndStridedOperands) {
  for (const auto& [in, out] : kConvTypes) {
    for (int64_t groups : {1, 2, 6}) {
      for (bool bias : {false, true}) {
        if (bias && out == kI32) continue;
        for (bool strided : {false, true}) {
          Check({.in = in,
                 .out = out,
                 .n = 2,
                 .c = 6,
                 .o = 12,
                 .groups = groups,
                 .i = {7, 6},
                 .pad = {1, 1},
                 .bias = bias,
                 .strided = strided});
        }
      }
    }
  }
}

TEST_P(Conv, LongSumsAndSeveralThreads) {
  for (const auto& [in, out] : kConvTypes) {
    Check({.in = in, .out = out, .c = 48, .o = 40, .i = {17, 15}, .pad = {1, 1}});
    Check({.in = in, .out = out, .c = 300, .o = 33, .i = {6, 6}, .k = {1, 1}});
    Check({.in = in, .out = out, .c = 3, .o = 16, .i = {32, 32}, .k = {7, 7}, .stride = {2, 2}, .pad = {3, 3}});
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, Conv, testing::ValuesIn(PluginPaths()), NameOfPlugin);

TEST(CpuConv, OffersWinogradWhereItApplies) {
  const auto names = [](const ConvArgs& c) {
    Op op = c.Description();
    std::set<std::string> found;
    for (const auto& implementation : Cpu().Offered(op)) found.insert(implementation.name);
    return found;
  };
  const std::set<std::string> both{"direct", "im2col"}, all{"direct", "im2col", "winograd-2x2-3x3"};
  EXPECT_EQ(names({.pad = {1, 1}}), all);
  EXPECT_EQ(names({.stride = {2, 2}}), both);
  EXPECT_EQ(names({.dilation = {2, 2}}), both);
  EXPECT_EQ(names({.k = {3, 1}}), both);
  EXPECT_EQ(names({.in = kI8, .out = kI32}), both);
}

TEST(CpuConv, DeclaresItsArithmetic) {
  const auto contracts = [](Type in, Type out) {
    Op op = ConvArgs{.in = in, .out = out}.Description();
    std::set<std::string> found;
    for (const auto& implementation : Cpu().Offered(op)) found.insert(implementation.contract);
    return found;
  };
  EXPECT_EQ(contracts(kF64, kF64),
            (std::set<std::string>{"f64;det=yes;batchinv=yes", "alg=winograd<2,3>;f64;det=yes;batchinv=yes"}));
  EXPECT_EQ(contracts(kI8, kI32), (std::set<std::string>{"acc=i32;det=yes;batchinv=yes"}));
}

TEST(CpuConv, SumsInt8ExactlyAboveTheFloatRange) {
  const ConvArgs c{.in = kI8, .out = kI32, .c = 2049, .i = {1}, .k = {1}, .stride = {1}, .pad = {0}, .dilation = {1}};
  Op op = c.Description();
  for (const char* name : {"direct", "im2col"}) {
    EXPECT_EQ(Cpu().Run(op, name, {std::vector<double>(2049, 127), std::vector<double>(2049, 127)}),
              std::vector<double>{127.0 * 127 * 2049});
  }
}

// Small integers: Winograd's halves stay exact when weights are multiples of 4.
TEST(CpuConv, WinogradIsExactOnSmallMultiplesOfFour) {
  const ConvArgs c{.c = 5, .o = 6, .i = {11, 9}, .pad = {1, 1}};
  Op op = c.Description();
  auto inputs = c.Inputs();
  for (size_t i = 0; i < inputs[0].size(); ++i) inputs[0][i] = static_cast<double>(i * 7 % 11) - 5;
  for (size_t i = 0; i < inputs[1].size(); ++i) inputs[1][i] = 4 * (static_cast<double>(i * 5 % 13) - 6);
  EXPECT_EQ(Cpu().Run(op, "winograd-2x2-3x3", inputs), c.Reference(inputs).value);
}

TEST(CpuConv, SkipsPaddingUnderInfiniteWeightsInDirect) {
  const ConvArgs c{.i = {3}, .k = {3}, .stride = {1}, .pad = {1}, .dilation = {1}};
  Op op = c.Description();
  const auto got = Cpu().Run(op, "direct", {{1, 1, 1}, {INFINITY, 1, 1}});
  EXPECT_EQ(got[0], 2);
  EXPECT_TRUE(std::isinf(got[1]));
}

TEST(CpuConv, IsBatchInvariant) {
  const ConvArgs one{.c = 9, .o = 7, .i = {13, 12}, .pad = {1, 1}};
  ConvArgs three = one;
  three.n = 3;
  Op small = one.Description(), large = three.Description();
  const auto inputs = three.Inputs();
  const std::vector<double> first(inputs[0].begin(), inputs[0].begin() + 9 * 13 * 12);
  for (const char* name : {"direct", "im2col", "winograd-2x2-3x3"}) {
    auto all = Cpu().Run(large, name, inputs);
    all.resize(all.size() / 3);
    EXPECT_EQ(Cpu().Run(small, name, {first, inputs[1]}), all) << name;
  }
}

}  // namespace
}  // namespace plugin_test
