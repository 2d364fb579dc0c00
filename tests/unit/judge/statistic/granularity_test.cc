// SPDX-License-Identifier: Apache-2.0
// Results with fewer bits than their type are seen however small their errors are; sums that cancel, whose last bits
// are zero too, are not taken for them.
#include "harness/judge/statistic/granularity.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/simulate/attention.h"
#include "tests/support/simulate/sums.h"
#include "tests/unit/judge/statistic/statistic_case.h"

namespace assay::test {
namespace {

std::vector<double> NearestOf(std::vector<double> values, int bits) {
  for (double& x : values) x = RoundTo({bits, -126, FormatOf(DType::kF32).max_finite, true}, x);
  return values;
}

// Errors that are smaller than what functions may be off, so that nothing else sees them.
TEST(Granularity, OutputsOfTooFewBitsAreSeen) {
  for (const char* id :
       {"attention/f32/b=1,h=2,l=9,s=40,d=8/fill=normal/seed=1", "attention/f32/b=1,h=1,l=5,d=4/fill=normal/seed=2",
        "matmul/f32/m=5,n=7,k=9/fill=normal/seed=3", "matmul/f32/m=16,n=20,k=64/fill=uniform/seed=4"}) {
    const StatisticCase c(id, "acc=f32;math=2");
    const bool attention = c.problem.spec.op == "attention";
    const std::vector<double> right = attention ? RunAttention(c.problem, c.inputs, c.contract, AllAttentionForms(0)[0])
                                                : RunMatmul(c.problem, c.inputs, AllSchedules(0)[0], {});
    const StatisticFinding holds = c.Judge(right).statistic;
    ASSERT_TRUE(holds.applicable) << id;
    EXPECT_LT(holds.granularity.margin, 0.75) << id;
    EXPECT_GT(holds.granularity.results, 0) << id;
    for (const int bits : {11, 17, 19, 20}) {
      const StatisticFinding fails = c.Judge(NearestOf(right, bits)).statistic;
      EXPECT_GT(fails.granularity.margin, 1) << id << " " << bits;
      EXPECT_EQ(fails.granularity.zeros, 24 - bits) << id;
      EXPECT_THAT(fails.reason, testing::HasSubstr(fmt::format("end in {} zero bits", 24 - bits)));
    }
  }
}

// A sum of terms that are 2^13 times as large as it, and integers, whose golden values end in zeros as well.
TEST(Granularity, SumsThatCancelAndIntegersAreNone) {
  for (const char* id :
       {"matmul/f32/m=16,n=16,k=64/fill=cancel-1e4/seed=1", "matmul/f32/m=16,n=16,k=2/fill=cancel-1e4/seed=2",
        "matmul/f16-f16-f32/m=16,n=16,k=3/fill=normal/seed=3",
        "matmul/bf16-bf16-f32/m=16,n=16,k=1/fill=normal/seed=4"}) {
    const StatisticCase c(id, "acc=f32");
    for (const Schedule& schedule : AllSchedules(1)) {
      const StatisticFinding holds = c.Judge(RunMatmul(c.problem, c.inputs, schedule, {})).statistic;
      EXPECT_LE(holds.granularity.margin, 1) << id << " " << holds.granularity.Text();
    }
  }
}

TEST(Granularity, EqualResultsCountOnce) {
  Golden golden;
  const Contract contract = Declared("acc=f32");
  for (int i = 0; i < 200; ++i) golden.value.push_back(1 + (i % 2) * 0x1p-22 + 0x1p-23);
  golden.magnitude = Plane(golden.size(), true), golden.error = Plane(golden.size(), true);
  BoundModel bound;
  bound.statistic.partial_sums = true;
  Tensor got(DType::kF32, {200});
  got.SetDoubles(std::vector<double>(200, 1));
  EXPECT_EQ(MeasureGranularity(ElementJudge(golden, bound, contract, DType::kF32), got).margin, 0);
  for (int i = 0; i < 200; ++i) golden.value[static_cast<size_t>(i)] = 1 + (2 * i + 1) * 0x1p-23;
  EXPECT_GT(MeasureGranularity(ElementJudge(golden, bound, contract, DType::kF32), got).margin, 1);
}

// 4^-19 and 4^-20 lie below what a test may fire by, 4^-16 does not; of many, three quarters decide.
TEST(Granularity, FewResultsAreTooFewToTell) {
  EXPECT_EQ(MostCoarseResults(16, 0.25), 16);
  EXPECT_EQ(MostCoarseResults(20, 0.25), 19);
  EXPECT_EQ(MostCoarseResults(8, 1.0 / 32), 7);
  EXPECT_EQ(MostCoarseResults(7, 1.0 / 32), 7);
  EXPECT_EQ(MostCoarseResults(400, 0.25), 300);
}

}  // namespace
}  // namespace assay::test
