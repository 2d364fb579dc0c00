// SPDX-License-Identifier: Apache-2.0
// Offers, declarations and refusals of the cpu backend. Its values are judged by kernels_test.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/backends/conv_case.h"
#include "tests/unit/backends/fft_case.h"
#include "tests/unit/backends/matmul_case.h"
#include "tests/unit/backends/reduce_case.h"

namespace plugin_test {
namespace {

using Names = std::set<std::string>;

Names NamesFor(Op op) {
  Names names;
  for (const Implementation& implementation : Cpu().Offered(op)) names.insert(implementation.name);
  return names;
}

Names ContractsFor(Op op) {
  Names contracts;
  for (const Implementation& implementation : Cpu().Offered(op)) contracts.insert(implementation.contract);
  return contracts;
}

TEST(Cpu, DeclaresTheArithmeticOfProducts) {
  const auto of = [](Type in, Type out) { return ContractsFor(MatmulArgs{.in = in, .out = out}.Description()); };
  EXPECT_EQ(of(kF64, kF64), Names{"f64;det=yes;batchinv=yes"});
  EXPECT_EQ(of(kBF16, kF32), Names{"f32acc;det=yes;batchinv=yes"});
  EXPECT_EQ(of(kI8, kI32), Names{"acc=i32;det=yes;batchinv=yes"});
}

TEST(Cpu, DeclaresTheArithmeticOfConvolutions) {
  const auto of = [](Type in, Type out) { return ContractsFor(ConvArgs{.in = in, .out = out}.Description()); };
  EXPECT_EQ(of(kF64, kF64), (Names{"f64;det=yes;batchinv=yes", "alg=winograd<2,3>;f64;det=yes;batchinv=yes"}));
  EXPECT_EQ(of(kI8, kI32), Names{"acc=i32;det=yes;batchinv=yes"});
}

TEST(Cpu, OffersWinogradWhereItApplies) {
  const auto names = [](const ConvArgs& c) { return NamesFor(c.Description()); };
  const Names both{"direct", "im2col"}, all{"direct", "im2col", "winograd-2x2-3x3"};
  EXPECT_EQ(names({.pad = {1, 1}}), all);
  EXPECT_EQ(names({.stride = {2, 2}}), both);
  EXPECT_EQ(names({.dilation = {2, 2}}), both);
  EXPECT_EQ(names({.k = {3, 1}}), both);
  EXPECT_EQ(names({.in = kI8, .out = kI32}), both);
}

TEST(Cpu, DeclaresTheAlgorithmOfTransforms) {
  const auto contract = [](const char* algorithm) {
    return testing::Contains(testing::HasSubstr(std::string("alg=") + algorithm));
  };
  EXPECT_EQ(NamesFor(FftArgs{.n = {64}}.Description()), (Names{"radix", "bluestein", "direct"}));
  EXPECT_THAT(ContractsFor(FftArgs{.n = {64}}.Description()),
              testing::AllOf(contract("fft"), contract("bluestein"), contract("direct")));
  EXPECT_EQ(NamesFor(FftArgs{.n = {2053}}.Description()), Names{"bluestein"});
}

// Sums in other orders differ, or only one of them would be tested.
TEST(Cpu, OrdersOfSumsDiffer) {
  Op op = ReduceArgs{.shape = {5000}, .axes = {0}}.Description();
  const auto x = RandomValues(kF32, 5000, 11);
  std::vector<double> sums;
  for (const auto& implementation : Cpu().Offered(op)) sums.push_back(Cpu().Run(op, implementation.name, {x}).at(0));
  EXPECT_NE(sums[0], sums[1]);
  EXPECT_NE(sums[0], sums[2]);
}

TEST(Cpu, RefusesWithAReason) {
  const auto expect = [](Op&& op, const char* part) {
    EXPECT_THAT(Cpu().Refusal(std::move(op)), testing::HasSubstr(part));
  };
  expect(MatmulArgs{.in = kI8, .out = kI32, .k = 131072}.Description(), "k=131072");  // the sum could overflow
  expect(ReduceArgs{.shape = {3, 0}, .axes = {1}}.Description(), "empty");
  expect(ReduceArgs{.in = kI8, .out = kF32, .shape = {3}, .axes = {0}}.Description(), "i8");
  expect(ReduceArgs{.shape = {3}, .axes = {0}, .nan = "ignore"}.Description(), "nan=ignore");
  expect(ReduceArgs{.shape = {3}, .axes = {}}.Description(), "axes");
  Op fft("fft");
  fft.In(Dense("x", kF16, {1, 8})).Out(Dense("y", kF16, {1, 8}));
  fft.String("kind", "c2c").List("n", {8}).Int("batch", 1).String("dir", "fwd").String("norm", "none");
  expect(std::move(fft), "not f16-f16");
}

}  // namespace
}  // namespace plugin_test
