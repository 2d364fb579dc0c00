// SPDX-License-Identifier: Apache-2.0
// The ladder's golden values are made once per case, whatever fails on it.
#include "tests/unit/judge/statistic/statistic_case.h"

namespace assay::test {
namespace {

struct Failing {
  StatisticCase c{"matmul/f32/m=32,n=32,k=64/fill=normal/seed=0", "acc=f32"};
  Tensor wrong, of_bf16;

  Failing() {
    std::vector<double> values = c.golden.value;
    for (double& y : values) y = 1.5 * y + 1;
    wrong = c.Output(values);
    std::vector<Tensor> rounded;
    for (const Tensor& input : c.inputs) {
      std::vector<double> x = input.ToDoubles();
      for (double& v : x) v = RoundTo(FormatOf(DType::kBF16), v);
      rounded.emplace_back(input.dtype(), input.shape()).SetDoubles(x);
    }
    of_bf16 = c.Output(c.op.ComputeGolden(c.problem, rounded, Tier::kFast).value);
  }
  std::optional<LowerClass> Find(const Tensor& got, LadderGoldens* goldens) const {
    return FindLowerClass(c.op, c.problem, c.contract, c.golden, {c.inputs, &got}, {}, goldens);
  }
};

TEST(LadderGoldens, AreMadeOnceForAllFailingResults) {
  const Failing failing;
  LadderGoldens goldens;
  EXPECT_FALSE(failing.Find(failing.wrong, &goldens));
  const int64_t made = goldens.made();
  EXPECT_GT(made, 4);
  EXPECT_FALSE(failing.Find(failing.wrong, &goldens));
  const auto found = failing.Find(failing.of_bf16, &goldens);
  EXPECT_EQ(goldens.made(), made);
  const auto anew = failing.Find(failing.of_bf16, nullptr);
  ASSERT_TRUE(found && anew);
  EXPECT_EQ(found->field, "in=bf16");
  EXPECT_EQ(found->field, anew->field);
  EXPECT_EQ(found->bound_margin, anew->bound_margin);
  EXPECT_EQ(found->stat_margin, anew->stat_margin);
}

TEST(LadderGoldens, BeyondTheLimitAreMadeAgain) {
  const Failing failing;
  LadderGoldens goldens(0);
  EXPECT_FALSE(failing.Find(failing.wrong, &goldens));
  const int64_t made = goldens.made();
  EXPECT_FALSE(failing.Find(failing.wrong, &goldens));
  EXPECT_GT(goldens.made(), made + 3);  // that a class changes nothing is kept: it has no size
}

TEST(Measure, OfWhatBreaksTheBoundMayStopThere) {
  const Failing failing;
  const auto& c = failing.c;
  const ErrorMetrics whole = Measure(c.golden, c.bound, c.contract, failing.wrong);
  const ErrorMetrics part = Measure(c.golden, c.bound, c.contract, failing.wrong, {.only_if_holds = true});
  EXPECT_TRUE(whole.statistic.applicable);
  EXPECT_FALSE(part.statistic.applicable);
  EXPECT_TRUE(part.worst.empty() && part.where.empty());
  EXPECT_EQ(part.violations, whole.violations);
  EXPECT_EQ(part.bound_margin, whole.bound_margin);
  const Tensor right = c.Output(c.golden.value);
  EXPECT_TRUE(Measure(c.golden, c.bound, c.contract, right, {.only_if_holds = true}).statistic.applicable);
}

}  // namespace
}  // namespace assay::test
