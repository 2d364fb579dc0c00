// SPDX-License-Identifier: Apache-2.0
// Whether oneDNN's convolutions, as installed, do what the plugin declares for them.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/backends/conv_case.h"

namespace plugin_test {
namespace {

Plugin& OneDnnPlugin() {
  return PluginAt(ASSAY_ONEDNN_PLUGIN);
}

const ConvCase kLayer{.c = 64, .o = 64, .i = {28, 28}, .pad = {1, 1}};

TEST(OneDnnConv, OffersPlainAndReorderedImplementations) {
  Op op = kLayer.Description();
  const auto found = OneDnnPlugin().Query(op);
  const auto reordered = std::ranges::count_if(found, [](const auto& i) { return i.name.ends_with("-reordered"); });
  EXPECT_GE(reordered, 1);
  EXPECT_LT(reordered, std::ssize(found));
  for (const auto& implementation : found) {
    EXPECT_EQ(implementation.Declares("winograd"), implementation.name.find("wino") != std::string::npos);
    RecordProperty(implementation.name, implementation.contract);
  }
}

// Sums at the ends of what i8 can make, on both sides of what f32 holds: 514 terms of 255 * 128 (the 1x1 kernels shift
// their image by 128 and convert the sum before they take the shift off again), 1024 of 128 * 128.
TEST(OneDnnConv, SumsInt8AsDeclared) {
  struct Row {
    int64_t c, k;
  };
  size_t exact = 0, rounded = 0;
  for (const auto& [c, k] : {Row{514, 1}, Row{777, 1}, Row{1023, 1}, Row{113, 3}, Row{2049, 1}, Row{227, 3}}) {
    const ConvCase conv{.in = kI8, .out = kI32, .c = c, .o = 16, .i = {4, 4}, .k = {k, k}};
    Op op = conv.Description();
    for (const auto& implementation : OneDnnPlugin().Query(op)) {
      double worst = 0;
      for (const auto& [x, w] : {std::pair(127.0, 127.0), std::pair(-128.0, 127.0)}) {
        const auto terms = static_cast<size_t>(c * k * k);
        const auto got = OneDnnPlugin().Run(
            op, implementation.name,
            {std::vector<double>(static_cast<size_t>(c) * 16, x), std::vector<double>(terms * 16, w)});
        for (double value : got) worst = std::max(worst, std::abs(value - x * w * static_cast<double>(terms)));
      }
      const bool declared = implementation.Declares("acc=i32");
      EXPECT_LE(worst, declared ? 0 : 255.0 * 127 * 2049 * 0x1p-24) << implementation.name << " " << conv.Text();
      exact += declared ? 1 : 0;
      rounded += worst > 0 ? 1 : 0;
    }
  }
  if (exact + rounded == 0) GTEST_SKIP() << "no i8 convolution on this processor";
  EXPECT_GT(exact, 0u);
  EXPECT_GT(rounded, 0u) << "nothing here tells i32 from f32";
}

TEST(OneDnnConv, KeepsSubnormalsWhereItDeclaresThat) {
  struct Row {
    Type in, out;
    double x, w;
  };
  const Row rows[] = {{kF32, kF32, 0x1p-130, 0x1p20},
                      {kF32, kF32, 0x1p-70, 0x1p-66},
                      {kBF16, kF32, 0x1p-130, 0x1p20},
                      {kBF16, kBF16, 0x1p-70, 0x1p-66}};
  for (const Row& row : rows) {
    for (const ConvCase::List& k : {ConvCase::List{1, 1}, ConvCase::List{3, 3}}) {
      ConvCase c{.in = row.in, .out = row.out, .c = 64, .o = 64, .i = {8, 8}, .k = k};
      Op op = c.Description();
      const double terms = static_cast<double>(64 * k[0] * k[1]);
      for (const auto& implementation : OneDnnPlugin().Query(op)) {
        if (implementation.Declares("ftz=all") || implementation.Declares("winograd")) continue;
        if (implementation.Declares("ftz=out") && row.x * row.w * terms < 0x1p-126) continue;
        const auto got = OneDnnPlugin().Run(
            op, implementation.name,
            {std::vector<double>(64 * 64, row.x), std::vector<double>(static_cast<size_t>(64 * terms), row.w)});
        EXPECT_EQ(got[0], terms * row.x * row.w)
            << implementation.name << " " << implementation.contract << " " << c.Text();
      }
    }
  }
}

TEST(OneDnnConv, RefusesWithAReason) {
  EXPECT_NE(OneDnnPlugin().Refusal(ConvCase{.in = kF16, .out = kF16}.Description()).find("f16"), std::string::npos);
  EXPECT_NE(OneDnnPlugin().Refusal(ConvCase{.in = kI8, .out = kI32, .bias = true}.Description()).find("bias"),
            std::string::npos);
}

}  // namespace
}  // namespace plugin_test
