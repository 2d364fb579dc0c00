// SPDX-License-Identifier: Apache-2.0
// Faults that stay inside the hard bound, and weaker arithmetic that nobody declared.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/attention/attention.h"
#include "tests/support/simulate/attention.h"
#include "tests/support/simulate/sums.h"
#include "tests/unit/judge/statistic/statistic_case.h"

namespace assay::test {
namespace {

constexpr const char* kLongSums = "matmul/f32/m=16,n=16,k=4096/fill=normal/seed=3";

// f32 sums of a[row, :] b[:, column] over [0, k), by blocks; `cast` is what becomes of an operand, `round` of a sum.
struct Kernel {
  int64_t k = 4096;
  double (*cast)(double) = nullptr;
  double (*round)(double) = nullptr;
  int64_t chunk = 64;
};

double ToF32(double x) {
  return RoundTo(FormatOf(DType::kF32), x);
}
double ToBF16(double x) {
  return RoundTo(FormatOf(DType::kBF16), x);
}
double ToF16(double x) {
  return RoundTo(FormatOf(DType::kF16), x);
}
double ToTf32(double x) {
  return RoundTo({11, -126, FormatOf(DType::kF32).max_finite, true}, x);
}
double CutToTf32(double x) {
  const double nearest = ToTf32(x);
  const double ulp = std::ldexp(1.0, std::ilogb(nearest) - 10);
  return std::fabs(nearest) <= std::fabs(x)
             ? nearest
             : nearest - std::copysign(std::ilogb(x) < std::ilogb(nearest) ? ulp / 2 : ulp, x);
}

std::vector<double> RunKernel(const StatisticCase& c, const Kernel& kernel) {
  const std::vector<double> a = c.inputs[0].ToDoubles(), b = c.inputs[1].ToDoubles();
  const int64_t m = c.problem.Int("m"), n = c.problem.Int("n"), k = c.problem.Int("k");
  const auto cast = [&](double x) { return kernel.cast ? kernel.cast(x) : x; };
  const auto round = [&](double x) { return kernel.round ? kernel.round(x) : ToF32(x); };
  std::vector<double> y(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m * n; ++i) {
    double total = 0, part = 0;
    for (int64_t t = 0; t < kernel.k; ++t) {
      part = round(part + round(cast(a[i / n * k + t]) * cast(b[t * n + i % n])));
      if ((t + 1) % kernel.chunk != 0 && t + 1 < kernel.k) continue;
      total = round(total + part);
      part = 0;
    }
    y[i] = total;
  }
  return y;
}

TEST(StatisticPower, ASingleDroppedTermIsAnOutlier) {
  const StatisticCase c(kLongSums, "acc=f32");
  std::vector<double> got = RunKernel(c, {});
  EXPECT_TRUE(c.Judge(got).statistic.Holds());
  EXPECT_LE(c.Judge(got).statistic.self_margin.value_or(9), 1);
  got[17] = RunKernel(c, {.k = 4095})[17];
  const ErrorMetrics m = c.Judge(got);
  EXPECT_TRUE(m.Holds());  // far inside the bound
  EXPECT_FALSE(m.statistic.Holds());
  EXPECT_EQ(m.statistic.outliers, 1);
  EXPECT_THAT(m.statistic.reason, testing::HasSubstr("element [1,1]"));
  EXPECT_FALSE(c.Explain(got)) << "one wrong element is no class of arithmetic";
}

TEST(StatisticPower, ATileOfDroppedTermsIsNoClass) {
  const StatisticCase c(kLongSums, "acc=f32");
  std::vector<double> got = RunKernel(c, {});
  const std::vector<double> wrong = RunKernel(c, {.k = 4095});
  for (int64_t i = 0; i < 256; ++i) {
    if (i / 16 < 8 && i % 16 < 8) got[i] = wrong[i];
  }
  EXPECT_FALSE(c.Judge(got).statistic.Holds());
  EXPECT_FALSE(c.Explain(got));
}

TEST(StatisticPower, ADroppedTermEverywhereIsNoClass) {
  const StatisticCase c(kLongSums, "acc=f32");
  const std::vector<double> got = RunKernel(c, {.k = 4095});
  EXPECT_FALSE(c.Judge(got).statistic.Holds());
  EXPECT_FALSE(c.Explain(got));
}

// A column whose errors are three times what the contract explains: no single element is beyond the threshold.
TEST(StatisticPower, AColumnOfSlightlyLargeErrorsIsAGroup) {
  const StatisticCase c("matmul/f32/m=64,n=32,k=1024/fill=normal/seed=5", "acc=f32");
  std::vector<double> got = RunKernel(c, {.k = 1024});
  ASSERT_TRUE(c.Judge(got).statistic.Holds());
  const ElementJudge judge(c.golden, c.bound, c.contract, DType::kF32);
  for (int64_t i = 5; i < 64 * 32; i += 32) got[i] = c.golden.value[i] + (i % 64 < 32 ? 4.5 : -4.5) * judge.Sigma(i);
  const ErrorMetrics m = c.Judge(got);
  EXPECT_LT(m.statistic.max_r, kElementThreshold);
  EXPECT_FALSE(m.statistic.Holds());
  EXPECT_EQ(m.statistic.group.kind, GroupKind::kColumn);
  EXPECT_EQ(m.statistic.group.index, 5);
  EXPECT_THAT(m.statistic.reason, testing::HasSubstr("column 5"));
}

struct Weaker {
  const char* field;
  Kernel kernel;
};

void PrintTo(const Weaker& weaker, std::ostream* out) {
  *out << weaker.field;
}

class UndeclaredArithmetic : public testing::TestWithParam<Weaker> {};

TEST_P(UndeclaredArithmetic, IsNamed) {
  const StatisticCase c(kLongSums, "acc=f32");
  const std::vector<double> got = RunKernel(c, GetParam().kernel);
  const ErrorMetrics m = c.Judge(got);
  ASSERT_FALSE(m.Holds() && m.statistic.Holds());
  const std::optional<WeakerArithmetic> found = c.Explain(got);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->field, GetParam().field);
}

INSTANTIATE_TEST_SUITE_P(Hypotheses, UndeclaredArithmetic,
                         testing::Values(Weaker{"in=tf32rn", {.cast = ToTf32}},
                                         Weaker{"in=tf32rz", {.cast = CutToTf32}}, Weaker{"in=bf16", {.cast = ToBF16}},
                                         Weaker{"acc=f16", {.round = ToF16, .chunk = 4096}},
                                         Weaker{"acc=bf16", {.round = ToBF16, .chunk = 4096}}));

// Outputs so small, or sums so short, that the sizes of the errors tell nothing: the sums themselves are formed.
class NarrowSumsInSmallOutputs : public testing::TestWithParam<Weaker> {};

TEST_P(NarrowSumsInSmallOutputs, AreNamed) {
  for (const char* id :
       {"matmul/f32/m=32,n=32,k=64/fill=normal/seed=0", "matmul/f32/m=17,n=9,k=64/fill=normal/seed=3",
        "matmul/f32/m=5,n=7,k=33/fill=normal/seed=3", "matmul/f16-f16-f32/m=5,n=7,k=16/fill=uniform/seed=1"}) {
    const StatisticCase c(id, "acc=f32");
    Kernel kernel = GetParam().kernel;
    kernel.k = kernel.chunk = c.problem.Int("k");
    std::vector<double> got = RunKernel(c, kernel);
    ASSERT_FALSE(c.Judge(got).Holds() && c.Judge(got).statistic.Holds()) << id;
    const std::optional<WeakerArithmetic> found = c.Explain(got);
    ASSERT_TRUE(found) << id;
    EXPECT_EQ(found->field, GetParam().field) << id;
    EXPECT_THAT(found->name, testing::EndsWith("one rounded product after another")) << id;
    kernel.k -= 1;
    const std::vector<double> shorter = RunKernel(c, kernel);
    // Each element that it moves by at least half as much as any: small last terms disappear in the rounding, or move
    // the result by a few spacings of the largest partial sum, which are permitted.
    double most = 0;
    for (size_t i = 0; i < got.size(); ++i) most = std::max(most, std::fabs(got[i] - shorter[i]));
    for (size_t i = 0; i < got.size(); ++i) {
      if (std::fabs(got[i] - shorter[i]) < most / 2) continue;
      const double whole = std::exchange(got[i], shorter[i]);
      EXPECT_FALSE(c.Explain(got)) << id << ": one term is missing of element " << i;
      got[i] = whole;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Hypotheses, NarrowSumsInSmallOutputs,
                         testing::Values(Weaker{"acc=f16", {.round = ToF16}}, Weaker{"acc=bf16", {.round = ToBF16}}));

// Twelve sums could come out like this by chance, and by more than one order.
TEST(StatisticPower, NarrowSumsInAFewElementsAreNoClass) {
  const StatisticCase c("matmul/f32/m=3,n=4,k=64/fill=normal/seed=3", "acc=f32");
  const std::vector<double> got = RunKernel(c, {.k = 64, .round = ToBF16});
  EXPECT_FALSE(c.Judge(got).statistic.Holds());
  EXPECT_FALSE(c.Explain(got));
}

TEST(StatisticPower, CutOperandsWithAWrongElementAreNoClass) {
  const StatisticCase c(kLongSums, "acc=f32");
  std::vector<double> got = RunKernel(c, {.cast = ToTf32});
  got[200] = RunKernel(c, {.k = 4095, .cast = ToTf32})[200];
  EXPECT_FALSE(c.Explain(got));
}

// A causal mask that shows one query the next key: inside the hard bound of bf16 probabilities.
TEST(StatisticPower, AMaskOffByOneInOneRowIsSeen) {
  const StatisticCase c("attention/bf16/b=1,h=1,l=256,d=64,causal=1/fill=normal/seed=2", "acc=f32;math=2;mid=bf16");
  const AttentionForm form;
  std::vector<double> got = RunAttention(c.problem, c.inputs, c.contract, form);
  ASSERT_TRUE(c.Judge(got).statistic.Holds());
  const std::vector<double> wrong = RunAttentionRow(c.problem, c.inputs, 200, c.contract, form, {.leak_next = true});
  std::ranges::copy(wrong, got.begin() + 200 * 64);
  const ErrorMetrics m = c.Judge(got);
  EXPECT_FALSE(m.statistic.Holds());
  EXPECT_THAT(m.statistic.reason, testing::HasSubstr("row 200"));
}

}  // namespace
}  // namespace assay::test
