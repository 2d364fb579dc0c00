// SPDX-License-Identifier: Apache-2.0
// Wrong formulas whose results stay inside the wide bound of a weaker arithmetic are not called by its name.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "tests/unit/judge/statistic/statistic_case.h"

namespace assay::test {
namespace {

double In(DType type, double x) {
  return RoundTo(FormatOf(type), x);
}

// Sums in double of what `term` makes of a and b.
std::vector<double> Product(const StatisticCase& c, const std::function<double(double, double)>& term) {
  const std::vector<double> a = c.inputs[0].ToDoubles(), b = c.inputs[1].ToDoubles();
  const int64_t m = c.problem.Int("m"), n = c.problem.Int("n"), k = c.problem.Int("k");
  std::vector<double> y(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m * n; ++i) {
    for (int64_t t = 0; t < k; ++t) y[i] += term(a[i / n * k + t], b[t * n + i % n]);
  }
  return y;
}

struct Formula {
  const char* name;
  double (*term)(double a, double b);
  double (*result)(double y);
};

void PrintTo(const Formula& formula, std::ostream* out) {
  *out << formula.name;
}

double Times(double a, double b) {
  return a * b;
}
double AsItIs(double y) {
  return y;
}

class WrongFormula : public testing::TestWithParam<Formula> {};

TEST_P(WrongFormula, IsNoClass) {
  for (const char* id :
       {"matmul/bf16/m=48,n=40,k=512/fill=normal/seed=0", "matmul/f16/m=48,n=40,k=512/fill=normal/seed=1",
        "matmul/f32/m=48,n=40,k=512/fill=normal/seed=2"}) {
    const StatisticCase c(id, "acc=f32");
    std::vector<double> got = Product(c, GetParam().term);
    for (double& y : got) y = In(c.problem.outputs[0].dtype, GetParam().result(y));
    const ErrorMetrics metrics = c.Judge(got);
    EXPECT_FALSE(metrics.Holds() && metrics.statistic.Holds()) << id << ": these data show nothing";
    const auto found = c.Explain(got);
    EXPECT_FALSE(found) << id << " " << found->name;
  }
}

// Outputs that hold 8 bits, as sums in bf16 leave them, and too few of them to go by the sizes of errors.
TEST_P(WrongFormula, RoundedToBf16InASmallOutputIsNoClass) {
  for (const char* id :
       {"matmul/f32/m=17,n=9,k=64/fill=normal/seed=0", "matmul/bf16-bf16-f32/m=5,n=7,k=33/fill=normal/seed=1",
        "matmul/bf16/m=17,n=9,k=512/fill=normal/seed=2"}) {
    const StatisticCase c(id, "acc=f32");
    std::vector<double> got = Product(c, GetParam().term);
    for (double& y : got) y = In(DType::kBF16, GetParam().result(y));
    const auto found = c.Explain(got);
    EXPECT_FALSE(found) << id << " " << found->name;
  }
}

INSTANTIATE_TEST_SUITE_P(Matmul, WrongFormula,
                         testing::Values(Formula{"a factor", Times, [](double y) { return y * (1 + 0x1p-8); }},
                                         Formula{"a smaller factor", Times, [](double y) { return y * (1 - 0x1p-9); }},
                                         Formula{"weights in steps of 1/16",
                                                 [](double a, double b) { return a * std::round(16 * b) / 16; },
                                                 AsItIs},
                                         Formula{"something added", Times, [](double y) { return y + 0.25; }},
                                         Formula{"zeros", Times, [](double) { return 0.0; }}));

// Few roundings to bf16 are as small as many to f16; what they leave has 8 bits all the same.
TEST(WrongFormula, BlocksAddedInBf16AreNoSumsInF16) {
  const StatisticCase c("matmul/f32/m=48,n=40,k=256/fill=normal/seed=0", "acc=f32");
  const std::vector<double> a = c.inputs[0].ToDoubles(), b = c.inputs[1].ToDoubles();
  for (const int64_t block : {4, 16, 64}) {
    std::vector<double> got(48 * 40);
    for (int64_t i = 0; i < 48 * 40; ++i) {
      double part = 0;
      for (int64_t t = 0; t < 256; ++t) {
        part += a[i / 40 * 256 + t] * b[t * 40 + i % 40];
        if ((t + 1) % block != 0) continue;
        got[i] = In(DType::kBF16, got[i] + part);
        part = 0;
      }
    }
    const auto found = c.Explain(got);
    EXPECT_TRUE(found || block != 4);
    const std::string field = found ? found->field : "acc=bf16";
    EXPECT_TRUE(field == "acc=bf16" || field == "mid=bf16") << block << ": " << field;
  }
}

// Zeros in place of sums so long that the bound of narrower sums says nothing at all.
TEST(WrongFormula, ZerosAreNoSumsInBf16) {
  const StatisticCase c("reduce/f32/shape=4x100000,axes=1,kind=sum/fill=normal/seed=0", "acc=f32");
  EXPECT_FALSE(c.Explain({0, 0, 0, 0}));
}

// A mean that is rounded twice, in one of eight rows: half of the others are above the exact value.
TEST(WrongFormula, TwoRoundingsAreNoTruncation) {
  const StatisticCase c("reduce/bf16/shape=512x500,axes=1,kind=mean/fill=uniform/seed=0", "acc=f32");
  std::vector<double> got;
  for (size_t i = 0; i < c.golden.value.size(); ++i) {
    const double nearest = In(DType::kBF16, c.golden.value[i]);
    const bool above = std::fabs(nearest) > std::fabs(c.golden.value[i]);
    // The neighbour toward zero, where the exact mean lies below the nearest one.
    got.push_back(i % 8 == 0 && above ? nearest * (1 - 0x1p-8) : nearest);
    got.back() = In(DType::kBF16, got.back());
  }
  EXPECT_FALSE(c.Judge(got).statistic.Holds());
  EXPECT_FALSE(c.Explain(got));
}

// Integers whose sums every accumulator of at least 24 bits holds: no arithmetic of the kind is an ulp off.
TEST(WrongFormula, OneUlpOnIntegersIsNoClass) {
  StatisticCase c("matmul/f32/m=32,n=16,k=256/fill=normal/seed=0", "acc=f32");
  for (Tensor& input : c.inputs) {
    std::vector<double> values = input.ToDoubles();
    for (double& x : values) x = std::round(3 * x);
    input.SetDoubles(values);
  }
  c.golden = c.op.ComputeGolden(c.problem, 0, c.inputs, Tier::kFast);
  for (const float to : {1e9F, 0.0F}) {
    std::vector<double> got = c.golden.value;
    got[100] = std::nextafter(static_cast<float>(got[100]), std::copysign(to, static_cast<float>(got[100])));
    ASSERT_NE(got[100], c.golden.value[100]);
    const auto found = c.Explain(got);
    EXPECT_FALSE(found) << found->name;
  }
}

// A running sum of positive terms rounds each of them on a grid that ends up as wide as they are; what is lost where
// the density of the terms jumps, at zero, adds up. Signed terms lose as much on either side.
TEST(LongSums, OfOneSignAreLegalInOrder) {
  for (const bool positive : {true, false}) {
    for (const char* kind : {"sum", "mean", "l2"}) {
      StatisticCase c(std::string("reduce/f32/shape=3x1000000,axes=1,kind=") + kind + "/fill=normal/seed=1", "acc=f32");
      std::vector<double> x = c.inputs[0].ToDoubles();
      for (double& value : x) value = positive ? std::fabs(value) : value;
      c.inputs[0].SetDoubles(x);
      c.golden = c.op.ComputeGolden(c.problem, 0, c.inputs, Tier::kFast);
      c.bound = c.op.Bound(c.problem, 0, c.golden, c.contract);
      std::vector<double> got;
      for (size_t row = 0; row < 3; ++row) {
        float sum = 0;
        for (size_t k = 0; k < 1000000; ++k) {
          const auto term = static_cast<float>(x[row * 1000000 + k]);
          sum += kind[0] == 'l' ? term * term : term;
        }
        got.push_back(kind[0] == 'l' ? std::sqrt(sum) : kind[0] == 'm' ? sum / 1000000 : sum);
      }
      const ErrorMetrics metrics = c.Judge(got);
      EXPECT_TRUE(metrics.statistic.applicable) << kind;
      EXPECT_TRUE(metrics.Holds() && metrics.statistic.Holds()) << kind << positive << " " << metrics.statistic.reason;
      if (positive || kind[0] != 's') continue;
      std::vector<double> wrong = got;
      wrong[1] += 5;  // sigma is 0.02 here
      EXPECT_FALSE(c.Judge(wrong).statistic.Holds()) << "what positive terms may lose is not granted to signed ones";
    }
  }
}

}  // namespace
}  // namespace assay::test
