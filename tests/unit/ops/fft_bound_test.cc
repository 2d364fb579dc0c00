// SPDX-License-Identifier: Apache-2.0
// The hard bound of fft holds for every legal algorithm on every fill, and faults exceed it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/fft/fft.h"
#include "tests/support/full.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/fft.h"

namespace assay {
namespace {

using test::C32;
using test::Signal;

// A bound case of one axis with its input, golden value and bound.
struct Judged {
  Problem problem;
  std::vector<Tensor> inputs;
  Golden golden;
  test::DeclaredBound bound;

  Judged(const std::string& id, const std::string& contract)
      : problem(test::Bind(id)),
        inputs(test::Op("fft").MakeInputs(problem)),
        golden(test::Op("fft").ComputeGolden(problem, 0, inputs, Tier::kFast)),
        bound(test::BoundOf(problem, golden, contract)) {}

  // Largest |error| / T over all numbers.
  double Margin(const std::vector<float>& got) const {
    const ElementJudge judge = test::JudgeBy(bound, golden);
    double margin = 0;
    EXPECT_EQ(std::ssize(got), golden.size());
    for (int64_t i = 0; i < golden.size(); ++i) {
      const Judgement judged = judge.Judge(i, got[i]);
      const double own = judged.Margin();
      EXPECT_EQ(judged.accepted, own <= 1) << i;
      margin = std::max(margin, own);
    }
    return margin;
  }

  // Largest error beyond the output's own rounding in units of sigma (the threshold is 8).
  double LargestDeviation(const std::vector<float>& got) const {
    const ElementJudge judge = test::JudgeBy(bound, golden);
    double largest = 0;
    for (int64_t i = 0; i < golden.size(); ++i) {
      largest = std::max(largest, judge.Deviation(i, judge.Judge(i, got[i])));
    }
    return largest;
  }

  // The whole output by one algorithm for a line.
  std::vector<float> Run(const test::LineTransform& line, const test::Twiddles& w) const {
    const FftArgs fft = FftArgsOf(problem);
    const int64_t n = fft.n[0];
    const std::vector<double> x = inputs[0].ToDoubles();
    const int64_t in = NumElements(fft.InputAxes()) * fft.InputParts();
    float scale = 1;
    if (fft.norm == FftNorm::kOrtho) scale = static_cast<float>(1 / std::sqrt(static_cast<double>(n)));
    if (fft.norm == FftNorm::kBackward && fft.inverse) scale = 1 / static_cast<float>(n);
    std::vector<float> got;
    for (int64_t b = 0; b < fft.batch; ++b) {
      Signal signal;
      for (int64_t j = 0; j < n; ++j) signal.push_back(Point(fft, x.data() + b * in, j));
      const Signal y = line(signal, w);
      for (int64_t k = 0; k < fft.OutputAxes()[0]; ++k) {
        got.push_back(y[k].re * scale);
        if (fft.OutputParts() == 2) got.push_back((fft.inverse ? -y[k].im : y[k].im) * scale);
      }
    }
    return got;
  }

 private:
  // The inverse transform is the conjugate of the forward one of the conjugate.
  static C32 Point(const FftArgs& fft, const double* x, int64_t j) {
    C32 point;
    if (fft.kind == FftKind::kR2C) {
      point.re = static_cast<float>(x[j]);
    } else {
      const HalfIndex at = fft.kind == FftKind::kC2R ? ToHalf(fft.n, j) : HalfIndex{j, false};
      point = {static_cast<float>(x[2 * at.index]), static_cast<float>(x[2 * at.index + 1])};
      if (at.conjugate) point.im = -point.im;
    }
    if (fft.inverse) point.im = -point.im;
    return point;
  }
};

constexpr const char* kFills[] = {"normal", "uniform", "outlier", "lognormal", "cancel-1e3", "ramp", "pow2"};

TEST(FftBound, HoldsForEveryLegalAlgorithm) {
  double largest = 0, deviation = 0;
  int ran = 0;
  for (const int64_t n : {1, 2, 3, 8, 12, 16, 31, 37, 60, 64, 77, 128, 210}) {
    for (const auto& line : test::LegalLines()) {
      const bool packed = std::string(line.name) == "real packed";
      if (std::string(line.name) == "stockham" && !std::has_single_bit(static_cast<uint64_t>(n))) continue;
      if (packed && n % 2 != 0) continue;
      for (const char* fill : kFills) {
        for (int seed = 0; seed < 3; ++seed) {
          const char* form = packed ? "f32-c64/kind=r2c" : "c64/kind=c2c";
          const char* rest = seed == 0 ? "" : seed == 1 ? ",dir=inv,norm=backward" : ",norm=ortho";
          if (packed && seed == 1) rest = "";
          const Judged judged(fmt::format("fft/{},n={},batch=2{}/fill={}/seed={}", form, n, rest, fill, seed),
                              fmt::format("f32;alg={}", line.algorithm));
          const std::vector<float> got = judged.Run(line.run, test::RoundedTwiddle);
          const double margin = judged.Margin(got);
          ASSERT_LE(margin, 1) << line.name << " n=" << n << " " << fill << " seed " << seed;
          largest = std::max(largest, margin), ++ran;
          if (n > 8 && std::string(line.algorithm) == "fft")
            deviation = std::max(deviation, judged.LargestDeviation(got));
        }
      }
    }
  }
  EXPECT_GT(ran, 1000);
  EXPECT_LT(deviation, 8);
  RecordProperty("largest_margin", fmt::format("{:.3f}", largest));
  RecordProperty("largest_deviation_in_sigma", fmt::format("{:.2f}", deviation));
}

// Odd factors and sums in order, whose running sums are large where few terms dominate or all have one direction.
TEST(FftBound, DeviationsOfCorrectAlgorithmsStayBelowTheThreshold) {
  double largest = 0;
  int64_t outputs = 0;
  for (const int64_t n : {3, 5, 7, 9, 11, 13, 17, 26, 31, 34, 77, 210}) {
    for (const auto& line : test::LegalLines()) {
      const std::string name = line.name;
      if (name == "stockham" || name == "real packed") continue;
      for (const char* fill : {"normal", "outlier", "lognormal", "near_one", "large"}) {
        for (int seed = 0; seed < (test::kIsFull ? 6 : 2); ++seed) {
          const Judged judged(fmt::format("fft/c64/kind=c2c,n={},batch=4/fill={}/seed={}", n, fill, seed),
                              fmt::format("f32;alg={}", line.algorithm));
          const double deviation = judged.LargestDeviation(judged.Run(line.run, test::RoundedTwiddle));
          EXPECT_LT(deviation, 4) << name << " n=" << n << " " << fill << " seed " << seed;
          largest = std::max(largest, deviation);
          outputs += judged.golden.size();
        }
      }
    }
  }
  EXPECT_GT(outputs, test::kIsFull ? 500000 : 150000);
  fmt::print("largest deviation of {} numbers: {:.2f} of 8\n", outputs, largest);
}

TEST(FftBound, HoldsForRealOutputsAndLongTransforms) {
  for (const char* id : {"fft/c64-f32/kind=c2r,n=96,dir=inv,norm=backward/fill=normal/seed=1",
                         "fft/c64-f32/kind=c2r,n=75/fill=outlier/seed=1", "fft/c64/kind=c2c,n=4096/fill=normal/seed=3",
                         "fft/c64/kind=c2c,n=3125/fill=cancel-1e6/seed=3"}) {
    const Judged judged(id, "f32;alg=fft");
    EXPECT_LE(judged.Margin(judged.Run(test::DecimatedInTime, test::RoundedTwiddle)), 1) << id;
    EXPECT_LE(judged.Margin(judged.Run(test::DecimatedInFrequency, test::RoundedTwiddle)), 1) << id;
  }
  const Judged prime("fft/c64/kind=c2c,n=1009/fill=normal/seed=0", "f32;alg=bluestein");
  EXPECT_LE(prime.Margin(prime.Run(test::BluesteinLine, test::RoundedTwiddle)), 1);
}

TEST(FftBound, PerfectRoundingPassesAndOnePointZeroFiveTimesTheBoundFails) {
  for (const char* algorithm : {"fft", "bluestein", "direct"}) {
    const Judged judged("fft/c64/kind=c2c,n=48,batch=3/fill=normal/seed=0", fmt::format("f32;alg={}", algorithm));
    std::vector<float> got(judged.golden.value.begin(), judged.golden.value.end());
    EXPECT_LE(judged.Margin(got), 1);
    const double tolerance = judged.bound.LargestToleranceAt(judged.golden, 5);
    got[5] = static_cast<float>(judged.golden.value[5] + 1.05 * tolerance);
    EXPECT_GT(judged.Margin(got), 1) << algorithm;
  }
}

// Nothing rounds there: 2^-20 of the value is wrong, whatever its size.
TEST(FftBound, OnePointIsCopied) {
  for (const char* fill : {"normal", "subnormal"}) {
    for (const char* norm : {"none", "ortho"}) {
      const Judged judged(fmt::format("fft/c64/kind=c2c,n=1,batch=4,norm={}/fill={}/seed=0", norm, fill),
                          "f32;alg=fft");
      for (int64_t i = 0; i < judged.golden.size(); ++i) {
        const double a = judged.bound.At(judged.golden, i);
        // The golden value's own error alone.
        EXPECT_LE(a, 0x1p-40 * judged.golden.magnitude[i] + 0x1p-149) << fill << " " << norm;
      }
    }
  }
  const Judged convolved("fft/c64/kind=c2c,n=1/fill=normal/seed=0", "f32;alg=bluestein");
  EXPECT_GT(convolved.bound.At(convolved.golden, 0), 0);
}

TEST(FftBound, CatchesFaults) {
  const Judged judged("fft/c64/kind=c2c,n=256,batch=2,norm=ortho/fill=normal/seed=0", "f32;alg=fft");
  const auto conjugated = [](int64_t j, int64_t n) {
    const C32 w = test::RoundedTwiddle(j, n);
    return C32{w.re, -w.im};
  };
  EXPECT_GT(judged.Margin(judged.Run(test::DecimatedInTime, conjugated)), 1e3) << "wrong sign";
  std::vector<float> got = judged.Run(test::DecimatedInTime, test::RoundedTwiddle);
  ASSERT_LE(judged.Margin(got), 1);
  std::vector<float> scaled = got;
  for (float& v : scaled) v *= 1 + 1.0f / 256;  // n instead of n - 1 somewhere
  EXPECT_GT(judged.Margin(scaled), 10) << "wrong normalisation";
  std::swap(got[2 * 3], got[2 * 192]);  // 3 and 192 are each other's reversed bits
  EXPECT_GT(judged.Margin(got), 100) << "bit reversal slipped";
}

// A recurrence in f32 stays within what worst-case roundings could do; the statistic tells it apart.
TEST(FftBound, TellsTwiddlesByRecurrence) {
  const Judged judged("fft/c64/kind=c2c,n=4096/fill=normal/seed=0", "f32;alg=fft");
  const std::vector<float> right = judged.Run(test::Stockham2, test::RoundedTwiddle);
  EXPECT_LE(judged.Margin(right), 0.2);
  EXPECT_LT(judged.LargestDeviation(right), 8);
  const auto from_f32 = [](int64_t j, int64_t n) { return test::RecurrentTwiddle(j, n, 24); };
  EXPECT_GT(judged.LargestDeviation(judged.Run(test::Stockham2, from_f32)), 8);
  const auto from_f16 = [](int64_t j, int64_t n) { return test::RecurrentTwiddle(j, n, 11); };
  EXPECT_GT(judged.Margin(judged.Run(test::Stockham2, from_f16)), 10);
}

// Few products with large factors err more than sums in order: what is legal of libraries' kernels of 11 points.
TEST(FftBound, HoldsForShortConvolutions) {
  double largest = 0;
  for (const char* fill : {"normal", "uniform", "lognormal", "outlier"}) {
    for (int seed = 0; seed < 4; ++seed) {
      const Judged judged(fmt::format("fft/c64/kind=c2c,n=11,batch=500/fill={}/seed={}", fill, seed), "f32;alg=fft");
      const std::vector<float> got = judged.Run(test::ShortConvolution11, test::RoundedTwiddle);
      EXPECT_LE(judged.Margin(got), 0.5) << fill;
      largest = std::max(largest, judged.LargestDeviation(got));
    }
  }
  EXPECT_LT(largest, 8);
  EXPECT_GT(largest, 2);  // with the variance of sums in order it would be 4.2 times that, beyond the threshold
  const Judged judged("fft/c64/kind=c2c,n=11,batch=500/fill=normal/seed=1", "f32;alg=fft");
  const auto coarse = [](int64_t j, int64_t n) { return test::RecurrentTwiddle(j, n, 14); };
  EXPECT_GT(judged.LargestDeviation(judged.Run(test::ShortConvolution11, coarse)), 8);
}

TEST(FftBound, ClassesAreOrderedAsTheTheorySays) {
  const auto tolerance = [](const char* n, const std::string& contract) {
    const Judged judged(fmt::format("fft/c64/kind=c2c,n={}/fill=normal/seed=0", n), contract);
    return judged.bound.LargestToleranceAt(judged.golden, 0);
  };
  EXPECT_LT(tolerance("1024", "f32;alg=fft"), tolerance("1024", "f32;alg=bluestein"));
  EXPECT_LT(tolerance("1024", "f32;alg=bluestein"), tolerance("1024", "f32;alg=direct"));
  EXPECT_LT(tolerance("64", "f32;alg=fft"), tolerance("64", "f32;alg=fft;math=2"));
  EXPECT_LT(tolerance("64", "f32;alg=fft;math=2"), tolerance("64", "tf32;alg=fft"));
  EXPECT_LT(tolerance("64", "f32;alg=fft"), tolerance("64", "f32;alg=fft;out=any"));
  EXPECT_LT(tolerance("64", "f32;alg=fft"), tolerance("64", "acc=f32;alg=fft;mid=f16"));
}

// The golden value of an infinite element is some infinity: what is right there is either, and NaN.
TEST(FftBound, ATransformOfOneElementIsThatElementAlsoWhereItIsInfinite) {
  for (const char* fill : {"edges", "special"}) {
    const Judged fft(fmt::format("fft/c64/kind=c2c,n=1,batch=33/fill={}/seed=0", fill), "f32;alg=fft;math=0.51");
    const std::vector<double> x = fft.inputs[0].ToDoubles();
    EXPECT_TRUE(std::ranges::any_of(x, [](double part) { return part == -HUGE_VAL; })) << fill;
    for (int64_t i = 0; i < fft.golden.size(); ++i) {
      EXPECT_TRUE(test::Accepts(fft.bound, fft.golden, i, x[static_cast<size_t>(i)])) << fill << " " << i;
    }
  }
}

}  // namespace
}  // namespace assay
