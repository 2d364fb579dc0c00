// SPDX-License-Identifier: Apache-2.0
// Exact promises of the cpu backend's contracts: integer sums, one rounding, batch invariance, determinism.
#include <gtest/gtest.h>

#include "tests/unit/backends/matmul_case.h"

namespace plugin_test {
namespace {

constexpr const char* kNames[] = {"naive", "blocked", "splitk"};

TEST(CpuMatmul, SumsInt8ExactlyAboveTheFloatRange) {
  const MatmulArgs c{.in = kI8, .out = kI32, .m = 1, .n = 2, .k = 2049};
  Op op = c.Description();
  for (const char* name : kNames) {
    const auto got = Cpu().Run(op, name, {std::vector<double>(2049, 127), std::vector<double>(4098, 127)});
    EXPECT_EQ(got, std::vector<double>(2, 127.0 * 127 * 2049)) << name;
  }
}

TEST(CpuMatmul, AddsIntegerOperands) {
  const MatmulArgs c{.in = kI8, .out = kI32, .m = 5, .n = 4, .k = 9, .bias = true, .beta = 3};
  Op op = c.Description();
  const auto inputs = c.Inputs();
  for (const char* name : kNames) EXPECT_EQ(Cpu().Run(op, name, inputs), c.Reference(inputs).value) << name;
}

TEST(CpuMatmul, RefusesSumsThatCanOverflow) {
  Op op = MatmulArgs{.in = kI8, .out = kI32, .k = 131072}.Description();
  std::string reason;
  EXPECT_TRUE(Cpu().Query(op, &reason).empty());
  EXPECT_NE(reason.find("k=131072"), std::string::npos) << reason;
}

TEST(CpuMatmul, DeclaresItsArithmetic) {
  const auto contract = [](Type in, Type out) {
    Op op = MatmulArgs{.in = in, .out = out}.Description();
    return Cpu().Offered(op).at(0).contract;
  };
  EXPECT_EQ(contract(kF64, kF64), "f64;det=yes;batchinv=yes");
  EXPECT_EQ(contract(kBF16, kF32), "f32acc;det=yes;batchinv=yes");
  EXPECT_EQ(contract(kI8, kI32), "acc=i32;det=yes;batchinv=yes");
}

// The first rows of a larger product are the smaller product, bit for bit.
TEST(CpuMatmul, IsBatchInvariant) {
  const MatmulArgs large{.m = 70, .n = 130, .k = 900}, small{.m = 3, .n = 130, .k = 900};
  Op large_op = large.Description(), small_op = small.Description();
  auto inputs = large.Inputs();
  for (const char* name : kNames) {
    auto all = Cpu().Run(large_op, name, inputs);
    all.resize(3 * 130);
    EXPECT_EQ(Cpu().Run(small_op, name, {{inputs[0].begin(), inputs[0].begin() + 2700}, inputs[1]}), all) << name;
  }
}

TEST(CpuMatmul, KeepsSubnormals) {
  Op op = MatmulArgs{.k = 4}.Description();
  for (const char* name : kNames) {
    EXPECT_EQ(Cpu().Run(op, name, {std::vector<double>(4, 0x1p-130), std::vector<double>(4, 0x1p-3)}),
              std::vector<double>{0x1p-131});
  }
}

TEST(CpuMatmul, RoundsTheProductBeforeARoundedEpilogue) {
  // 257/256 is halfway between two bf16 neighbours: it rounds to 1 before c = 2^-8 is added, and not after.
  for (const bool rounded : {false, true}) {
    const MatmulArgs c{.in = kBF16, .out = kBF16, .k = 2, .rounded = rounded, .beta = 1};
    Op op = c.Description();
    const auto got = Cpu().Run(op, "naive", {{1, 1}, {1, 0x1p-8}, {0x1p-8}});
    EXPECT_EQ(got, std::vector<double>{rounded ? 1.0 : 1 + 0x1p-7});
  }
}

TEST(CpuMatmul, LetsPoisonOutsideTheOperandsBe) {
  // The tails of tiles are padded inside the plan; infinities must not leak from one column into its neighbours.
  const MatmulArgs c{.m = 3, .n = 3, .k = 2};
  Op op = c.Description();
  const auto got = Cpu().Run(op, "blocked", {std::vector<double>(6, 1), {INFINITY, 1, 1, 1, 1, 1}});
  EXPECT_TRUE(std::isinf(got[0]));
  EXPECT_EQ(got[1], 2);
}

}  // namespace
}  // namespace plugin_test
