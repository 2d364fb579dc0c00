// SPDX-License-Identifier: Apache-2.0
// Non-finite values, ties and refusals of the cpu backend's reduce.
#include <gtest/gtest.h>

#include "tests/unit/backends/reduce_case.h"

namespace plugin_test {
namespace {

// The result over all of `x`, expected to be the same from each implementation.
double Reduced(const std::string& kind, const std::vector<double>& x, const std::string& nan = "propagate",
               Type type = kF32) {
  ReduceArgs c{.kind = kind, .in = type, .out = type, .shape = {static_cast<int64_t>(x.size())}, .axes = {0}};
  c.nan = nan;
  Op op = c.Description();
  std::vector<double> results;
  for (const auto& implementation : Cpu().Offered(op)) results.push_back(Cpu().Run(op, implementation.name, {x}).at(0));
  for (double result : results) {
    EXPECT_TRUE(result == results[0] || (std::isnan(result) && std::isnan(results[0]))) << kind;
  }
  return results.empty() ? -12345 : results[0];
}

// 40 ones with `value` at `position`.
std::vector<double> OnesWith(size_t position, double value) {
  std::vector<double> x(40, 1);
  return x[position] = value, x;
}

TEST(CpuReduce, PropagatesNaNFromEveryPosition) {
  for (size_t position : {0u, 1u, 15u, 16u, 39u}) {
    for (const char* kind : {"sum", "mean", "max", "min", "prod", "l2", "logsumexp"}) {
      EXPECT_TRUE(std::isnan(Reduced(kind, OnesWith(position, kNaN)))) << kind << " at " << position;
    }
    EXPECT_EQ(Reduced("argmax", OnesWith(position, kNaN)), static_cast<double>(position));
    EXPECT_EQ(Reduced("argmin", OnesWith(position, kNaN)), static_cast<double>(position));
  }
  EXPECT_EQ(Reduced("argmax", {1, 9, kNaN, kNaN}), 2);
}

TEST(CpuReduce, IgnoresNaNWhereAsked) {
  EXPECT_EQ(Reduced("max", {kNaN, -3, kNaN, -2, kNaN}, "ignore"), -2);
  EXPECT_EQ(Reduced("min", {kNaN, -3, kNaN, -2, kNaN}, "ignore"), -3);
  EXPECT_EQ(Reduced("max", {kNaN, -kInf}, "ignore"), -kInf);
  EXPECT_EQ(Reduced("argmax", {kNaN, -3, -2, kNaN}, "ignore"), 2);
  EXPECT_EQ(Reduced("argmin", {kNaN, kInf, kNaN}, "ignore"), 1);
  EXPECT_EQ(Reduced("argmax", {kNaN, kNaN}, "ignore"), 0);
  EXPECT_TRUE(std::isnan(Reduced("max", {kNaN, kNaN}, "ignore")));
  Op op = ReduceArgs{.kind = "max", .shape = {3}, .axes = {0}, .nan = "ignore"}.Description();
  EXPECT_NE(Cpu().Offered(op).at(0).contract.find("nan=ignore"), std::string::npos);
}

TEST(CpuReduce, KeepsInfinities) {
  for (const Type& type : {kF64, kF32, kF16, kBF16}) {
    EXPECT_EQ(Reduced("max", {-kInf, -kInf}, "propagate", type), -kInf);
    EXPECT_EQ(Reduced("min", {kInf, kInf}, "propagate", type), kInf);
    EXPECT_EQ(Reduced("logsumexp", {-kInf, -kInf}, "propagate", type), -kInf);
    EXPECT_EQ(Reduced("logsumexp", {1, kInf, -kInf}, "propagate", type), kInf);
    EXPECT_TRUE(std::isnan(Reduced("sum", {1, kInf, -kInf}, "propagate", type)));
  }
  EXPECT_TRUE(std::isnan(Reduced("logsumexp", {kInf, kNaN})));
  EXPECT_EQ(Reduced("logsumexp", {1000, -1000}), 1000);
}

TEST(CpuReduce, FindsTheFirstOfEqual) {
  EXPECT_EQ(Reduced("argmax", {1, 5, 2, 5}), 1);
  EXPECT_EQ(Reduced("argmin", {4, 1, 1, 5}), 1);
  EXPECT_EQ(Reduced("argmax", {-kInf, -kInf}), 0);
}

TEST(CpuReduce, OrdersDifferButAgreeOnWhatIsExact) {
  const ReduceArgs c{.shape = {5000}, .axes = {0}};
  Op op = c.Description();
  const auto x = RandomValues(kF32, 5000, 11);
  std::vector<double> sums;
  for (const auto& implementation : Cpu().Offered(op)) sums.push_back(Cpu().Run(op, implementation.name, {x}).at(0));
  EXPECT_NE(sums[0], sums[1]);
  EXPECT_NE(sums[0], sums[2]);
  EXPECT_EQ(Reduced("sum", std::vector<double>(5000, 1), "propagate", kBF16), 4992);  // 5000 in bf16
}

TEST(CpuReduce, RefusesWithAReason) {
  const auto reason = [](const ReduceArgs& c) { return Cpu().Refusal(c.Description()); };
  EXPECT_NE(reason({.shape = {3, 0}, .axes = {1}}).find("empty"), std::string::npos);
  EXPECT_NE(reason({.in = kI8, .out = kI8, .shape = {3}, .axes = {0}}).find("i8"), std::string::npos);
  EXPECT_NE(reason({.shape = {3}, .axes = {0}, .nan = "ignore"}).find("nan=ignore"), std::string::npos);
  EXPECT_NE(reason({.shape = {3}, .axes = {}}).find("axes"), std::string::npos);
}

}  // namespace
}  // namespace plugin_test
