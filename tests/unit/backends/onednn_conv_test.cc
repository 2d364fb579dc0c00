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
  const auto found = OneDnnPlugin().Offered(op);
  const auto reordered = std::ranges::count_if(found, [](const auto& i) { return i.name.ends_with("-reordered"); });
  EXPECT_GE(reordered, 1);
  EXPECT_LT(reordered, std::ssize(found));
  for (const auto& implementation : found) {
    EXPECT_EQ(implementation.Declares("winograd"), implementation.name.find("wino") != std::string::npos);
    RecordProperty(implementation.name, implementation.contract);
  }
}

TEST(OneDnnConv, SumsInt8AsDeclared) {
  ConvCase c{.in = kI8, .out = kI32, .c = 2049, .o = 16, .i = {4, 4}, .k = {1, 1}};
  Op op = c.Description();
  const double exact = 127.0 * 127 * 2049;
  for (const auto& implementation : OneDnnPlugin().Offered(op)) {
    const auto got = OneDnnPlugin().Run(op, implementation.name,
                                        {std::vector<double>(2049 * 16, 127), std::vector<double>(2049 * 16, 127)});
    const auto [least, most] = std::ranges::minmax(got);
    const double worst = std::max(std::abs(least - exact), std::abs(most - exact));
    EXPECT_LE(worst, implementation.Declares("acc=i32") ? 0 : exact * 0x1p-24) << implementation.name;
  }
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
    int kept = 0;
    for (const ConvCase::List& k : {ConvCase::List{1, 1}, ConvCase::List{3, 3}}) {
      ConvCase c{.in = row.in, .out = row.out, .c = 64, .o = 64, .i = {8, 8}, .k = k};
      Op op = c.Description();
      const double terms = static_cast<double>(64 * k[0] * k[1]);
      for (const auto& implementation : OneDnnPlugin().Offered(op)) {
        if (implementation.Declares("ftz=all") || implementation.Declares("winograd")) continue;
        if (implementation.Declares("ftz=out") && row.x * row.w * terms < 0x1p-126) continue;
        const auto got = OneDnnPlugin().Run(
            op, implementation.name,
            {std::vector<double>(64 * 64, row.x), std::vector<double>(static_cast<size_t>(64 * terms), row.w)});
        EXPECT_EQ(got[0], terms * row.x * row.w)
            << implementation.name << " " << implementation.contract << " " << c.Text();
        ++kept;
      }
    }
    if (row.in == kF32) {
      EXPECT_GT(kept, 0) << "of f32 some implementation keeps subnormals, and none was tried";
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
