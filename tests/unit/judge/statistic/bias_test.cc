// SPDX-License-Identifier: Apache-2.0
// Errors that lean to one side: sums and operands that are cut off are seen where no single element is too far off, and
// correct sums lean by no more than is permitted, however many there are.
#include "harness/judge/statistic/bias.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/simulate/conv.h"
#include "tests/support/simulate/sums.h"
#include "tests/unit/judge/statistic/statistic_case.h"

namespace assay::test {
namespace {

// x to `bits` bits, toward zero.
double Cut(double x, int bits) {
  if (x == 0) return 0;
  const int shift = bits - 1 - std::ilogb(x);
  return std::ldexp(std::trunc(std::ldexp(x, shift)), -shift);
}

// Products of f32 and their sums one after another; `operand` and `sum` are the bits that are kept.
struct Cutting {
  int operand = 24, sum = 0;  // sum 0: to nearest
};
std::vector<double> RunCutting(const StatisticCase& c, const Cutting& cutting) {
  const std::vector<double> a = c.inputs[0].ToDoubles(), b = c.inputs[1].ToDoubles();
  const int64_t m = c.problem.Int("m"), n = c.problem.Int("n"), k = c.problem.Int("k");
  const auto round = [&](double x) { return cutting.sum > 0 ? Cut(x, cutting.sum) : Arithmetic().Round(x); };
  std::vector<double> y(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m * n; ++i) {
    double sum = 0;
    for (int64_t t = 0; t < k; ++t) {
      const double left = Cut(a[i / n * k + t], cutting.operand), right = Cut(b[t * n + i % n], cutting.operand);
      sum = round(sum + round(left * right));
    }
    y[i] = sum;
  }
  return y;
}

struct Cutter {
  const char* id;
  Cutting cutting;
};

class LeaningErrors : public testing::TestWithParam<Cutter> {};

TEST_P(LeaningErrors, AreSeenInNoElementButInAll) {
  const StatisticCase c(GetParam().id, "acc=f32");
  const StatisticFinding right = c.Judge(RunCutting(c, {})).statistic;
  ASSERT_TRUE(right.applicable);
  EXPECT_LE(right.bias_margin.value_or(9), 0.5);
  EXPECT_TRUE(right.Holds());
  const StatisticFinding cut = c.Judge(RunCutting(c, GetParam().cutting)).statistic;
  EXPECT_LE(cut.max_r, kElementThreshold);
  EXPECT_LE(cut.cluster.margin, 1);
  EXPECT_LE(cut.group.margin, 1);
  EXPECT_GT(cut.bias_margin.value_or(0), 1);
  EXPECT_FALSE(cut.Holds());
  EXPECT_THAT(cut.reason, testing::HasSubstr("errors lean toward zero by"));
}

INSTANTIATE_TEST_SUITE_P(Bias, LeaningErrors,
                         testing::Values(Cutter{"matmul/f32/m=16,n=24,k=6/fill=uniform/seed=2", {.sum = 24}},
                                         Cutter{"matmul/f32/m=24,n=40,k=6/fill=uniform/seed=1", {.sum = 24}},
                                         Cutter{"matmul/f32/m=40,n=24,k=200/fill=normal/seed=0", {.operand = 21}}));

struct LargeSums {
  const char *form, *contract;
};

// Running sums lean when their spacing grows, but by a share of their deviation, whatever the number of outputs.
TEST(Bias, ManyCorrectSumsLeanLittle) {
  constexpr LargeSums kLarge[] = {{"matmul/f32/m=128,n=96,k=96", "acc=f32"},
                                  {"matmul/f32/m=128,n=96,k=48,alpha=0.3,beta=-1.5,bias=1", "acc=f32"},
                                  {"matmul/f32/m=128,n=96,k=48,alpha=0.5,beta=-1.5,bias=1", "acc=f32"},
                                  {"matmul/f16/m=128,n=96,k=48", "acc=f16"},
                                  {"matmul/f16-f16-f32/m=96,n=96,k=96", "acc=f32;ftz=all"},
                                  {"conv/f32/n=2,c=6,o=8,i=24x24,k=3x3,pad=1", "acc=f32"},
                                  {"reduce/f32/shape=9000x70,axes=1", "acc=f32"},
                                  {"reduce/f32/shape=9000x70,axes=1,kind=mean", "acc=f32;math=1"}};
  double largest = 0;
  int judged = 0;
  for (const auto& [form, contract] : kLarge) {
    for (const char* fill : {"uniform", "normal", "lognormal", "near_one"}) {
      const StatisticCase c(fmt::format("{}/fill={}/seed=0", form, fill), contract);
      for (const Schedule& schedule : {Schedule{}, Schedule{.order = Order::kPairwise, .fma = true}}) {
        const Arithmetic unit = ArithmeticOf(c.contract);
        const StatisticFinding s =
            c.Judge(c.problem.spec.op == "conv"     ? RunConv(c.problem, c.inputs, schedule, unit, Padding::kSkipped)
                    : c.problem.spec.op == "reduce" ? RunReduce(c.problem, c.inputs, schedule, unit)
                                                    : RunMatmul(c.problem, c.inputs, schedule, unit))
                .statistic;
        if (!s.applicable || !s.bias_margin) continue;
        ++judged;
        EXPECT_LE(*s.bias_margin, 0.5) << c.problem.spec.Id() << " order " << static_cast<int>(schedule.order);
        largest = std::max(largest, *s.bias_margin);
      }
    }
  }
  EXPECT_GE(judged, 40);
  RecordProperty("largest", fmt::format("{:.3f}", largest));
}

// Kernels round a factor that their arithmetic does not have, and err alike everywhere.
TEST(Bias, IsNotAskedWhereAFactorHasToBeRounded) {
  EXPECT_FALSE(StatisticCase("matmul/f32/m=8,n=8,k=8,alpha=0.3/fill=normal/seed=0", "acc=f32").bound.statistic.lean);
  EXPECT_TRUE(StatisticCase("matmul/f32/m=8,n=8,k=8,alpha=-1.5/fill=normal/seed=0", "acc=f32").bound.statistic.lean);
  EXPECT_FALSE(StatisticCase("matmul/f32/m=8,n=8,k=8/fill=normal/seed=0", "acc=f32;out=any").bound.statistic.lean);
}

TEST(Bias, InfinitiesAndNaNAreNoTrials) {
  StatisticCase c("matmul/f32/m=64,n=16,k=40/fill=normal/seed=0", "acc=f32");
  for (int64_t i = 0; i < 1024; i += 2) c.golden.value[i] = i % 4 == 0 ? std::nan("") : INFINITY;
  const ElementJudge judge(c.golden, c.bound, c.contract, DType::kF32);
  const assay::Bias found = MeasureBias(judge, 0.9 * 512, 512);
  EXPECT_NEAR(found.limit, kBiasThreshold / std::sqrt(512) + *c.bound.statistic.lean, 1e-3);
  EXPECT_GT(found.margin, 1);
}

TEST(Bias, ADrawnSampleOfALargeTensorHasNoPairsOfItsOwn) {
  StatisticCase c("matmul/f32/m=1024,n=512,k=2/fill=normal/seed=0", "acc=f32");
  const int64_t n = 1024 * 512;
  for (int64_t i = 0; i < n; ++i) c.golden.value[i] = static_cast<double>(i + 1);
  const ElementJudge judge(c.golden, c.bound, c.contract, DType::kF32);
  const assay::Bias found = MeasureBias(judge, 0.5 * static_cast<double>(n), n);
  EXPECT_NEAR(found.limit, kBiasThreshold / std::sqrt(n) + *c.bound.statistic.lean, 1e-3);
}

TEST(Bias, EqualSumsCountOnce) {
  StatisticCase c("matmul/f32/m=64,n=16,k=40/fill=normal/seed=0", "acc=f32");
  constexpr int64_t kValues = 64 * 16;
  constexpr double kLean = 0.5;
  const ElementJudge judge(c.golden, c.bound, c.contract, DType::kF32);
  const assay::Bias all = MeasureBias(judge, kLean * kValues, kValues);
  EXPECT_GT(all.margin, 1);
  EXPECT_NEAR(all.limit, kBiasThreshold / 32 + *c.bound.statistic.lean, 1e-3);
  for (int64_t i = 0; i < kValues; ++i) c.golden.value[i] = (i / 16 % 2 == 0 ? 1 : -1) * c.golden.value[i % 16];
  const assay::Bias rows = MeasureBias(judge, kLean * kValues, kValues);
  EXPECT_LT(rows.margin, 1);
  EXPECT_NEAR(rows.limit, kBiasThreshold / 4 + *c.bound.statistic.lean, 0.05);
}

// A running sum is a multiple of its own spacing: where it is larger than the bias, the bias is cut off at the same bit
// in every output of a column.
struct Summed {
  const char* form;
  int seeds, beyond_independent;  // of so many seeds at least so many would be rejected if all errors were independent
};

class CommonAddend : public testing::TestWithParam<Summed> {};

TEST_P(CommonAddend, MayErrAlikeInAllOfItsSums) {
  int beyond_independent = 0;
  for (int seed = 0; seed < GetParam().seeds; ++seed) {
    StatisticCase c(fmt::format("{}/fill=large/seed={}", GetParam().form, seed), "acc=f32");
    const Arithmetic unit = ArithmeticOf(c.contract);
    const std::vector<double> right = c.problem.spec.op == "conv"
                                          ? RunConv(c.problem, c.inputs, Schedule{}, unit, Padding::kSkipped)
                                          : RunMatmul(c.problem, c.inputs, Schedule{}, unit);
    const StatisticFinding judged = c.Judge(right).statistic;
    ASSERT_TRUE(judged.bias_margin);
    EXPECT_LE(*judged.bias_margin, 1) << seed;
    c.bound.statistic.shared_addends = 0;
    beyond_independent += *c.Judge(right).statistic.bias_margin > 1 ? 1 : 0;
  }
  EXPECT_GE(beyond_independent, GetParam().beyond_independent);
}

INSTANTIATE_TEST_SUITE_P(Bias, CommonAddend,
                         testing::Values(Summed{"matmul/f32/m=20000,n=1,k=2,beta=1,bias=1", 8, 4},
                                         Summed{"conv/f32/n=1,c=2,o=1,i=150x140,k=1,bias=1", 32, 2}));

TEST(Bias, OneOfManyRoundingsHardlyWidensTheLimit) {
  const StatisticCase c("matmul/f32/m=40,n=24,k=200,bias=1/fill=normal/seed=0", "acc=f32");
  const ElementJudge judge(c.golden, c.bound, c.contract, DType::kF32);
  const assay::Bias found = MeasureBias(judge, 0.5 * 960, 960);
  EXPECT_GT(found.limit, kBiasThreshold / std::sqrt(960.0) + *c.bound.statistic.lean);
  EXPECT_LT(found.limit, 1.5 * kBiasThreshold / std::sqrt(960.0) + *c.bound.statistic.lean);
}

}  // namespace
}  // namespace assay::test
