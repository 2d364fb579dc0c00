// SPDX-License-Identifier: Apache-2.0
// Whether oneDNN, as installed, does what the plugin declares for it. Where it does less on this CPU than declared
// (an older ISA emulates bf16 without flushing), the declaration is still true.
#include <gtest/gtest.h>

#include "tests/unit/backends/matmul_case.h"
#include "tests/unit/backends/reduce_case.h"

namespace plugin_test {
namespace {

Plugin& OneDnn() {
  return PluginAt(ASSAY_ONEDNN_PLUGIN);
}

TEST(OneDnn, OffersItsImplementationsApart) {
  Op op = MatmulCase{.m = 64, .n = 64, .k = 64}.Description();
  const auto found = OneDnn().Offered(op);
  ASSERT_GE(found.size(), 2u);
  for (const auto& implementation : found) {
    EXPECT_EQ(implementation.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-"), std::string::npos);
  }
  const auto again = OneDnn().Offered(op);
  ASSERT_EQ(found.size(), again.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].name, again[i].name) << "the order is not stable";
}

TEST(OneDnn, SumsInt8AsDeclared) {
  Op op = MatmulCase{.in = kI8, .out = kI32, .m = 16, .n = 16, .k = 2049}.Description();
  const double exact = 127.0 * 127 * 2049;
  for (const auto& implementation : OneDnn().Offered(op)) {
    const auto got = OneDnn().Run(op, implementation.name,
                                  {std::vector<double>(16 * 2049, 127), std::vector<double>(16 * 2049, 127)});
    for (double value : got) {
      ASSERT_LE(std::abs(value - exact), implementation.Declares("acc=i32") ? 0 : exact * 0x1p-24)
          << implementation.name;
    }
  }
}

TEST(OneDnn, KeepsSubnormalsWhereItDeclaresThat) {
  struct Row {
    Type in, out;
    double a, b;
  };
  const Row rows[] = {{kF32, kF32, 0x1p-130, 0x1p20},
                      {kF32, kF32, 0x1p-70, 0x1p-66},
                      {kBF16, kF32, 0x1p-130, 0x1p20},
                      {kBF16, kF32, 0x1p-70, 0x1p-66},
                      {kBF16, kBF16, 0x1p-130, 0x1p20}};
  for (const Row& row : rows) {
    Op op = MatmulCase{.in = row.in, .out = row.out, .m = 16, .n = 16, .k = 64}.Description();
    int kept = 0;
    for (const auto& implementation : OneDnn().Offered(op)) {
      if (implementation.Declares("ftz=all") || (implementation.Declares("ftz=out") && row.a * row.b < 0x1p-126))
        continue;
      const auto got =
          OneDnn().Run(op, implementation.name, {std::vector<double>(1024, row.a), std::vector<double>(1024, row.b)});
      EXPECT_EQ(got[0], 64 * row.a * row.b) << implementation.name << " " << implementation.contract;
      ++kept;
    }
    if (row.in == kF32) {
      EXPECT_GT(kept, 0) << "of f32 some implementation keeps subnormals, and none was tried";
    }
  }
}

TEST(OneDnn, SumsBf16InF32) {
  std::vector<double> x(4097, 0x1p-12);
  x[0] = 1;
  Op op = ReduceCase{.in = kBF16, .out = kBF16, .shape = {1, 4097}, .axes = {1}}.Description();
  for (const auto& implementation : OneDnn().Offered(op)) {
    EXPECT_EQ(OneDnn().Run(op, implementation.name, {x}).at(0), 2) << implementation.name;
  }
}

TEST(OneDnn, RefusesWithAReason) {
  EXPECT_NE(OneDnn().Refusal(MatmulCase{.in = kF16, .out = kF16}.Description()).find("f16"), std::string::npos);
  EXPECT_NE(OneDnn().Refusal(MatmulCase{.in = kI8, .out = kI32, .bias = true}.Description()).find("f32"),
            std::string::npos);
  EXPECT_NE(OneDnn().Refusal(MatmulCase{.rounded = true, .beta = 1}.Description()).find("rounded"), std::string::npos);
  EXPECT_NE(OneDnn().Refusal(ReduceCase{.kind = "logsumexp", .shape = {3}, .axes = {0}}.Description()).find("sum"),
            std::string::npos);
}

}  // namespace
}  // namespace plugin_test
