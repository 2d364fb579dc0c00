// SPDX-License-Identifier: Apache-2.0
// Errors by which a weaker arithmetic is recognised, and those that only look alike.
#include "harness/judge/hypotheses/weaker_arithmetic_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/unit/judge/statistic/statistic_case.h"

namespace assay::test {
namespace {

struct ProductCase : StatisticCase {
  explicit ProductCase(const std::string& id, const char* declared = "acc=tc<24,8>") : StatisticCase(id, declared) {}

  ElementJudge Judge() const { return {golden, bound, contract, problem.outputs[0].dtype}; }
  // Outputs of golden values that this has changed.
  Tensor Changed(const std::function<double(double y, int64_t i)>& change) const {
    std::vector<double> values = golden.value;
    for (size_t i = 0; i < values.size(); ++i) values[i] = change(values[i], static_cast<int64_t>(i));
    return Output(values);
  }
  // The sums of a unit that cuts what lies below `bits` fraction bits off, after each block of `block` products.
  Tensor Truncated(int bits, int64_t block) const {
    const std::vector<double> a = inputs[0].ToDoubles(), b = inputs[1].ToDoubles();
    const int64_t n = problem.Int("n"), terms = problem.Int("k");
    return Changed([&](double, int64_t i) {
      double sum = 0;
      for (int64_t first = 0; first < terms; first += block) {
        for (int64_t k = first; k < std::min(terms, first + block); ++k) sum += a[i / n * terms + k] * b[k * n + i % n];
        sum = sum == 0 ? 0 : std::ldexp(std::trunc(std::ldexp(sum, bits - std::ilogb(sum))), std::ilogb(sum) - bits);
      }
      return sum;
    });
  }
};

constexpr const char* kPositive = "matmul/bf16-bf16-f32/m=32,n=32,k=512/fill=uniform/seed=0";
constexpr const char* kSigned = "matmul/bf16-bf16-f32/m=32,n=32,k=512/fill=normal/seed=0";

TEST(ScattersLikeTruncation, LossesOfAUnitDo) {
  for (const char* id : {kPositive, kSigned}) {
    const ProductCase c(id);
    EXPECT_TRUE(ScattersLikeTruncation(c.Judge(), c.Truncated(23, 8), 512, 8)) << id;
    EXPECT_TRUE(ScattersLikeTruncation(c.Judge(), c.Truncated(23, 4), 512, 4)) << id;
  }
}

TEST(ScattersLikeTruncation, OneShareOfAllResultsOrOneAmountDoesNot) {
  for (const char* id : {kPositive, kSigned}) {
    const ProductCase c(id);
    const Golden& golden = c.golden;
    EXPECT_FALSE(
        ScattersLikeTruncation(c.Judge(), c.Changed([](double y, int64_t) { return y * (1 - 1e-4); }), 512, 8));
    EXPECT_FALSE(ScattersLikeTruncation(c.Judge(), c.Changed([](double y, int64_t) { return y - 1e-2; }), 512, 8));
    EXPECT_FALSE(ScattersLikeTruncation(
        c.Judge(), c.Changed([&](double y, int64_t i) { return y - 1e-4 * golden.magnitude[i]; }), 512, 8));
  }
}

// A term that is left out of a sum of one sign scatters by more than a unit's losses, as terms do.
TEST(ScattersLikeTruncation, LostTermsOfOneSignDoNot) {
  StatisticCase terms(kPositive, "acc=tc<24,8>");
  const ProductCase c("matmul/bf16-bf16-f32/m=32,n=32,k=512/fill=uniform/seed=0");
  std::vector<double> a = c.inputs[0].ToDoubles(), b = c.inputs[1].ToDoubles();
  for (double& x : a) x = std::fabs(x);
  for (double& x : b) x = std::fabs(x);
  terms.inputs[0].SetDoubles(a), terms.inputs[1].SetDoubles(b);
  terms.golden = terms.op.ComputeGolden(terms.problem, 0, terms.inputs, Tier::kFast);
  terms.bound = terms.op.Bound(terms.problem, 0, terms.golden, terms.contract);
  std::vector<double> lost = terms.golden.value;
  for (size_t i = 0; i < lost.size(); ++i) lost[i] -= a[i / 32 * 512 + 511] * b[511 * 32 + i % 32];
  const ElementJudge judge(terms.golden, terms.bound, terms.contract, DType::kF32);
  EXPECT_FALSE(ScattersLikeTruncation(judge, terms.Output(lost), 512, 8));
}

TEST(ScattersLikeTruncation, WhereNoTermsAreKnownNothingSpeaksAgainstIt) {
  const ProductCase c(kSigned);
  EXPECT_TRUE(ScattersLikeTruncation(c.Judge(), c.Changed([](double y, int64_t) { return y * (1 - 1e-4); }), 0, 8));
}

bool Fits(const std::string& id, const char* weaker) {
  const Problem problem = Bind(id);
  const Operator& op = Op(problem.spec.op);
  return FitsMatrixUnit(op, problem, 0, Declared(weaker), op.MakeInputs(problem));
}

TEST(FitsMatrixUnit, ProductsOfFewBitsDo) {
  EXPECT_TRUE(Fits("matmul/bf16-bf16-f32/m=4,n=4,k=16/fill=normal/seed=0", "acc=tc<24,8>"));
  EXPECT_TRUE(Fits("matmul/f16/m=4,n=4,k=16/fill=normal/seed=0", "acc=tc<24,8>"));
  EXPECT_TRUE(Fits("attention/bf16/b=1,h=1,l=4,d=8/fill=normal/seed=0", "acc=tc<24,8>"));
  EXPECT_TRUE(Fits("conv/f16/n=1,c=2,o=2,i=4x4,k=3x3/fill=normal/seed=0", "acc=tc<24,8>"));
}

TEST(FitsMatrixUnit, ProductsOfF32DoWhereTheContractRoundsThem) {
  const char* id = "matmul/f32/m=4,n=4,k=16/fill=normal/seed=0";
  EXPECT_FALSE(Fits(id, "acc=tc<24,8>"));
  EXPECT_TRUE(Fits(id, "in=tf32rn;acc=tc<24,8>"));
  EXPECT_TRUE(Fits("matmul/f32/m=4,n=4,k=16/fill=pow2/seed=0", "acc=tc<24,8>")) << "tf32 holds powers of two";
}

TEST(FitsMatrixUnit, SumsWithoutFactorsDoNot) {
  EXPECT_FALSE(Fits("reduce/bf16/shape=4x16,axes=1,kind=sum/fill=normal/seed=0", "acc=tc<24,8>"));
  EXPECT_FALSE(Fits("softmax/bf16/shape=4x16/fill=normal/seed=0", "acc=tc<24,8>"));
  EXPECT_FALSE(Fits("rms_norm/bf16/rows=4,n=16/fill=normal/seed=0", "in=tf32rn;acc=tc<24,8>"));
}

double CutTowardZero(const FloatFormat& format, double x) {
  const double nearest = RoundTo(format, x);
  return std::fabs(nearest) > std::fabs(x) ? nearest - std::copysign(UlpAt(format, std::fabs(x)), x) : nearest;
}

bool IsTowardZero(const std::string& id, const std::function<double(const FloatFormat&, double)>& result,
                  const char* contract = "acc=f32;math=4;out=rz") {
  const StatisticCase c(id, contract);
  const FloatFormat& format = FormatOf(c.problem.outputs[0].dtype);
  std::vector<double> values = c.golden.value;
  for (double& y : values) y = result(format, y);
  const Tensor got = c.Output(values);
  const ErrorMetrics metrics = Measure(c.golden, c.bound, c.contract, got);
  return metrics.Holds() && RoundsTowardZero(ElementJudge(c.golden, c.bound, c.contract, got.dtype()), got, metrics);
}

TEST(RoundsTowardZero, ResultsThatAreCutOffDo) {
  for (const char* id : {kSigned, "matmul/bf16/m=32,n=32,k=4096/fill=normal/seed=0",
                         "rms_norm/bf16/rows=32,n=1024/fill=normal/seed=0", "gelu/f32/n=4096/fill=normal/seed=0"}) {
    const bool hides = std::string(id) == kSigned || std::string(id).starts_with("gelu");  // f32 sums, functions
    EXPECT_EQ(IsTowardZero(id, CutTowardZero), !hides) << id;
  }
}

// A function may be off by as much as declared, to either side, before its result is cut off.
TEST(RoundsTowardZero, ResultsOfInaccurateFunctionsThatAreCutOffDo) {
  for (const double share : {100 * 0x1p-24, -100 * 0x1p-24}) {
    const auto cut = [share](const FloatFormat& format, double y) { return CutTowardZero(format, y * (1 + share)); };
    EXPECT_TRUE(IsTowardZero("gelu/bf16/n=4096/fill=normal/seed=0", cut, "acc=f32;math=64;out=rz")) << share;
  }
}

// Each result is smaller by the same share, as with a larger epsilon, and rounded to nearest.
TEST(RoundsTowardZero, AFactorDoesNot) {
  for (const char* id :
       {"rms_norm/bf16/rows=32,n=1024/fill=normal/seed=0", "rms_norm/f32/rows=32,n=4096/fill=normal/seed=0",
        "layer_norm/f16/rows=32,n=1024/fill=normal/seed=0", "rms_norm/f32/rows=32,n=64/fill=normal/seed=0",
        "reduce/bf16/shape=512x64,axes=1,kind=mean/fill=normal/seed=0"}) {
    const double u = FormatOf(Bind(id).outputs[0].dtype).UnitRoundoff();
    for (const double share : {u / 2, 0.7 * u, u, 1.3 * u, 2 * u, 4.5e-6, 1e-5}) {
      const auto smaller = [share](const FloatFormat& format, double y) { return RoundTo(format, y * (1 - share)); };
      EXPECT_FALSE(IsTowardZero(id, smaller)) << id << " " << share;
    }
  }
}

}  // namespace
}  // namespace assay::test
