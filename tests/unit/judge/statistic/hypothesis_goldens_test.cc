// SPDX-License-Identifier: Apache-2.0
// Golden values of hypotheses are made once per case, whatever fails on it.
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
    of_bf16 = c.Output(c.op.ComputeGolden(c.problem, 0, rounded, Tier::kFast).value);
  }
  std::optional<WeakerArithmetic> Find(const Tensor& got, HypothesisGoldens* goldens) const {
    return FindWeakerArithmetic(c.op, c.problem, 0, c.contract, c.golden, {c.inputs, &got}, {}, goldens);
  }
};

TEST(HypothesisGoldens, AreMadeOnceForAllFailingResults) {
  const Failing failing;
  HypothesisGoldens goldens;
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

TEST(HypothesisGoldens, BeyondTheLimitAreMadeAgain) {
  const Failing failing;
  HypothesisGoldens goldens(0);
  EXPECT_FALSE(failing.Find(failing.wrong, &goldens));
  const int64_t made = goldens.made();
  EXPECT_FALSE(failing.Find(failing.wrong, &goldens));
  EXPECT_GT(goldens.made(), made + 3);  // that a class changes nothing is kept: it has no size
}

// Its worst elements, and some others, refute all classes before anything is made of the whole case.
TEST(HypothesisGoldens, AreNotMadeWhereAPartRefutesTheClass) {
  const StatisticCase c("matmul/f32/m=64,n=64,k=256/fill=normal/seed=0", "acc=f32");
  std::vector<double> values = c.golden.value;
  values[70] += 1;
  const Tensor got = c.Output(values);
  const ErrorMetrics metrics = c.Judge(values);
  HypothesisGoldens goldens;
  EXPECT_FALSE(
      FindWeakerArithmetic(c.op, c.problem, 0, c.contract, c.golden, {c.inputs, &got, metrics.worst}, {}, &goldens));
  EXPECT_EQ(goldens.made(), 0);
}

// Results of sums whose partial sums are rounded to a format, after so many terms each and at the end.
std::vector<double> RoundedSums(const StatisticCase& c, DType type, int64_t block, bool running) {
  const auto products = c.op.Products(c.problem, 0, c.inputs);
  std::vector<double> terms(static_cast<size_t>(products->terms())), values;
  for (int64_t i = 0; i < c.golden.size(); ++i) {
    products->Read(i, terms);
    double sum = 0, part = 0;
    for (size_t t = 0; t < terms.size(); ++t) {
      part += terms[t];
      if ((static_cast<int64_t>(t) + 1) % block != 0) continue;
      sum = running ? RoundTo(FormatOf(type), sum + part) : sum + RoundTo(FormatOf(type), part);
      part = 0;
    }
    values.push_back(sum);
  }
  return values;
}

TEST(HypothesisGoldens, APartRefutesNoTrueClass) {
  const StatisticCase c("matmul/f32/m=64,n=64,k=256/fill=normal/seed=0", "acc=f32");
  const struct {
    DType type;
    int64_t block;
    bool running;
    const char* name;
  } all[] = {{DType::kF16, 1, true, "f16 sums, one term after another"},
             {DType::kBF16, 1, true, "bf16 sums, one term after another"},
             {DType::kBF16, 4, true, "bf16 sums, 4 terms at a time"},
             {DType::kF16, 64, false, "f16 sums of 4 equal parts"},
             {DType::kBF16, 32, false, "bf16 sums of 8 equal parts"}};
  for (const auto& one : all) {
    std::vector<double> values = RoundedSums(c, one.type, one.block, one.running);
    const auto find = [&] {
      const Tensor got = c.Output(values);
      const ErrorMetrics metrics = c.Judge(values);
      return FindWeakerArithmetic(c.op, c.problem, 0, c.contract, c.golden, {c.inputs, &got, metrics.worst}, {});
    };
    const auto found = find();
    ASSERT_TRUE(found) << one.name;
    EXPECT_EQ(found->name, one.name);
    values[70] += 16;
    EXPECT_FALSE(find()) << one.name << " but for one element";
  }
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
