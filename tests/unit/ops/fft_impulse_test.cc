// SPDX-License-Identifier: Apache-2.0
// Twins of impulses: legal algorithms keep their bounds and their spread, and twiddles of too few bits do not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numbers>

#include "harness/judge/twin_check.h"
#include "ops/fft/fft.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/fft.h"

namespace assay::test {
namespace {

using test::C32;
using test::Signal;

std::vector<Twin> Impulses(const Problem& problem, std::string_view contract) {
  std::vector<Twin> twins = TwinsOf(problem, contract);
  std::erase_if(twins, [](const Twin& twin) { return !twin.sparse; });
  return twins;
}

// Element j of the whole line that x, the input of one transform, stands for.
C32 PointOf(const FftArgs& fft, const double* x, int64_t j) {
  if (fft.kind == FftKind::kR2C) return {static_cast<float>(x[j]), 0};
  const HalfIndex at = fft.kind == FftKind::kC2R ? ToHalf(fft.n, j) : HalfIndex{j, false};
  const float sign = at.conjugate ? -1 : 1;
  return {static_cast<float>(x[2 * at.index]), sign * static_cast<float>(x[2 * at.index + 1])};
}

// Judges the results of transforms of one axis on the twin's inputs.
TwinResult Judge(const Problem& problem, const Twin& twin, const LineTransform& line, const Twiddles& w) {
  const FftArgs fft = FftArgsOf(problem);
  const std::vector<double> x = twin.inputs[0].ToDoubles();
  const int64_t in = NumElements(fft.InputAxes()) * fft.InputParts();
  std::vector<double> y;
  for (int64_t b = 0; b < fft.batch; ++b) {
    Signal signal;
    for (int64_t j = 0; j < fft.n[0]; ++j) signal.push_back(PointOf(fft, &x[static_cast<size_t>(b * in)], j));
    const Signal got = line(signal, w);
    for (int64_t k = 0; k < fft.OutputAxes()[0]; ++k) {
      y.push_back(got[static_cast<size_t>(k)].re);
      if (fft.OutputParts() == 2) y.push_back(got[static_cast<size_t>(k)].im);
    }
  }
  Tensor output(problem.outputs[0].dtype, problem.outputs[0].shape);
  output.SetDoubles(y);
  return CheckTwin(twin, 0, output);
}

// From a table: sines in long double would be most of the time.
C32 Rounded(int64_t j, int64_t n) {
  static std::map<int64_t, Signal> tables;
  static int64_t last = 0;  // most calls ask for the length of the call before
  static const Signal* table = nullptr;
  if (n != last) {
    Signal& made = tables[n];
    for (int64_t i = std::ssize(made); i < n; ++i) made.push_back(RoundedTwiddle(i, n));
    table = &made;
    last = n;
  }
  return (*table)[static_cast<size_t>(j % n)];
}

C32 RoundedTo(int bits, C32 root) {
  const auto rounded = [=](float x) {
    int exponent = 0;
    const float fraction = std::frexp(x, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
  };
  return {rounded(root.re), rounded(root.im)};
}

C32 OfF32Angle(int64_t j, int64_t n) {
  const float angle = static_cast<float>(2 * std::numbers::pi) * static_cast<float>(j % n) / static_cast<float>(n);
  return {static_cast<float>(std::cos(static_cast<double>(angle))),
          static_cast<float>(-std::sin(static_cast<double>(angle)))};
}

bool IsPowerOfTwo(int64_t n) {
  return std::has_single_bit(static_cast<uint64_t>(n));
}

// Each place of each length: nothing else is left that twiddles could do to an impulse.
TEST(FftImpulse, LegalAlgorithmsHoldAtEveryPlace) {
  int ran = 0;
  double margin = 0;
  for (const int64_t n : {5, 7, 8, 11, 13, 15, 16, 26, 31, 60, 64, 75, 77, 81, 128}) {
    for (const auto& line : LegalLines()) {
      const std::string name = line.name;
      const bool packed = name == "real packed";
      if (name == "direct, pairwise") continue;  // of an impulse as the sequential one
      if ((name == "stockham" && !IsPowerOfTwo(n)) || (packed && n % 2 != 0)) continue;
      for (const char* form : {"c64/kind=c2c", "f32-c64/kind=r2c", "c64-f32/kind=c2r"}) {
        if (packed && std::string(form) != "f32-c64/kind=r2c") continue;
        const Problem problem = Bind(fmt::format("fft/{},n={},batch={}/fill=normal/seed=0", form, n, n + 3));
        for (const Twin& twin : Impulses(problem, fmt::format("f32;alg={}", line.algorithm))) {
          const TwinResult result = Judge(problem, twin, line.run, Rounded);
          EXPECT_TRUE(result.Holds()) << problem.spec.Id() << " " << name << ": "
                                      << result.Reason(problem.outputs[0].shape);
          margin = std::max(margin, result.Margin());
          ++ran;
        }
      }
    }
  }
  EXPECT_GT(ran, 150);
  fmt::print("largest margin of {} executions: {:.2f}\n", ran, margin);
}

TEST(FftImpulse, FewRowsHoldAsWell) {
  for (const int64_t n : {8, 16, 18, 40, 60, 64, 75, 120, 243, 256, 320, 504, 768, 1000, 1024}) {
    for (const int64_t batch : {1, 2, 5}) {
      const Problem problem = Bind(fmt::format("fft/c64/kind=c2c,n={},batch={}/fill=normal/seed=0", n, batch));
      const std::vector<Twin> twins = Impulses(problem, "f32;alg=fft");
      EXPECT_GE(twins.size() * static_cast<size_t>(batch), 4u);
      for (const Twin& twin : twins) {
        EXPECT_TRUE(Judge(problem, twin, DecimatedInTime, Rounded).Holds()) << n;
        EXPECT_TRUE(Judge(problem, twin, DecimatedInFrequency, Rounded).Holds()) << n;
        if (IsPowerOfTwo(n)) {
          EXPECT_TRUE(Judge(problem, twin, Stockham2, Rounded).Holds()) << n;
        }
      }
    }
  }
}

// The last places are turned in every layer of a power of two.
TEST(FftImpulse, LongSingleRowsHoldByThreeProducts) {
  for (const int64_t n : {2048, 16384, 65536}) {
    const Problem problem = Bind(fmt::format("fft/c64/kind=c2c,n={}/fill=normal/seed=0", n));
    for (const Twin& twin : Impulses(problem, "f32;alg=fft")) {
      const TwinResult result = Judge(problem, twin, DecimatedByThreeProducts, Rounded);
      EXPECT_TRUE(result.Holds()) << n << ": " << result.Reason(problem.outputs[0].shape);
    }
  }
}

// Convolutions spread their errors: lengths of any factors, and primes that transforms of other lengths have.
TEST(FftImpulse, ConvolutionsHold) {
  double margin = 0;
  for (const int64_t n : {17, 31, 37, 74, 101, 125, 251, 499, 1000}) {
    for (const int64_t batch : {1, 8}) {
      const Problem problem = Bind(fmt::format("fft/c64/kind=c2c,n={},batch={}/fill=normal/seed=0", n, batch));
      for (const char* contract : {"f32;alg=bluestein", "f32;alg=fft"}) {
        // Bluestein's algorithm on the whole line rounds less than Rader's on its primes would.
        if (std::string_view(contract) == "f32;alg=fft" && (n == 125 || n == 1000 || n == 74)) continue;
        const std::vector<Twin> twins = Impulses(problem, contract);
        EXPECT_GE(twins.size() * static_cast<size_t>(batch), 4u);
        for (const Twin& twin : twins) {
          const TwinResult result = Judge(problem, twin, BluesteinLine, Rounded);
          EXPECT_TRUE(result.Holds()) << problem.spec.Id() << " " << contract << " " << result.rms / result.rms_limit;
          margin = std::max(margin, result.rms / result.rms_limit);
        }
      }
    }
  }
  fmt::print("largest share of the limit: {:.2f}\n", margin);
}

TEST(FftImpulse, CoarseChirpsAreSeen) {
  const auto of_bits = [](int bits) {
    return Twiddles([bits](int64_t j, int64_t n) { return RoundedTo(bits, Rounded(j, n)); });
  };
  const Twiddles recurrent = [](int64_t j, int64_t n) { return RecurrentTwiddle(j, n, 24); };
  for (const int64_t n : {17, 37, 101, 125, 499, 1009}) {
    const Problem problem = Bind(fmt::format("fft/c64/kind=c2c,n={},batch=8/fill=normal/seed=0", n));
    const std::vector<Twin> twins = Impulses(problem, "f32;alg=bluestein");
    ASSERT_EQ(twins.size(), 1u);
    for (const Twiddles& coarse : {of_bits(18), of_bits(20), recurrent}) {
      const TwinResult result = Judge(problem, twins[0], BluesteinLine, coarse);
      EXPECT_TRUE(result.IsTooSpread()) << n << " " << result.rms / result.rms_limit;
    }
  }
}

// Their products of large factors err more than sums in order.
TEST(FftImpulse, ShortConvolutionsHold) {
  const Problem problem = Bind("fft/c64/kind=c2c,n=11,batch=14/fill=normal/seed=0");
  for (const Twin& twin : Impulses(problem, "f32;alg=fft")) {
    EXPECT_LT(Judge(problem, twin, ShortConvolution11, Rounded).Margin(), 0.5);
  }
}

struct Coarse {
  const char* name;
  Twiddles twiddles;
  int64_t least;  // length from which it is seen
};

TEST(FftImpulse, CoarseTwiddlesAreSeen) {
  const Coarse coarse[] = {
      {"18 bits", [](int64_t j, int64_t n) { return RoundedTo(18, Rounded(j, n)); }, 8},
      {"20 bits", [](int64_t j, int64_t n) { return RoundedTo(20, Rounded(j, n)); }, 8},
      {"recurrence", [](int64_t j, int64_t n) { return RecurrentTwiddle(j, n, 24); }, 16},
      {"angles in f32", OfF32Angle, 16},
  };
  for (const Coarse& fault : coarse) {
    for (const int64_t n : {8, 16, 60, 64, 128, 256, 1000, 1024}) {
      if (n < fault.least) continue;
      // Short lines have an impulse in every place.
      const int64_t batch = n <= 75 ? n + 3 : 9;
      const Problem problem = Bind(fmt::format("fft/c64/kind=c2c,n={},batch={}/fill=normal/seed=0", n, batch));
      for (const LineTransform& line : {LineTransform(DecimatedInTime), LineTransform(DecimatedInFrequency)}) {
        const std::vector<Twin> twins = Impulses(problem, "f32;alg=fft");
        const bool seen = std::ranges::any_of(
            twins, [&](const Twin& twin) { return !Judge(problem, twin, line, fault.twiddles).Holds(); });
        EXPECT_TRUE(seen) << fault.name << " n=" << n;
      }
    }
  }
}

// One entry of the table alone, off by as much as a wrong low half of a sine: any other data would hide it.
TEST(FftImpulse, OneWrongRootIsSeenWhereItIsUsed) {
  const auto one_off = [](int64_t j, int64_t n) {
    C32 root = Rounded(j, n);
    if (n == 256 && j == 37) root.im += 0x1p-17F;
    return root;
  };
  const Problem problem = Bind("fft/c64/kind=c2c,n=256,batch=8/fill=normal/seed=0");
  const std::vector<Twin> twins = Impulses(problem, "f32;alg=fft");
  ASSERT_EQ(twins.size(), 1u);
  const TwinResult result = Judge(problem, twins[0], DecimatedInTime, one_off);
  EXPECT_GT(result.wrong, 0);
  EXPECT_LT(result.wrong, result.elements / 10);
}

// Convolutions have a deviation and no bound of an output's own, other arithmetic rounds more, and the declared
// accuracy of twiddles counts.
TEST(FftImpulse, FollowsTheContract) {
  const Problem problem = Bind("fft/c64/kind=c2c,n=60,batch=8/fill=normal/seed=0");
  for (const char* contract : {"acc=tc<24,8>;alg=fft", "acc=f32;mid=bf16;alg=bluestein"}) {
    EXPECT_TRUE(Impulses(problem, contract).empty()) << contract;
  }
  const std::vector<Twin> convolution = Impulses(problem, "f32;alg=bluestein");
  ASSERT_EQ(convolution.size(), 1u);
  EXPECT_GT(convolution[0].rms, 0);
  EXPECT_EQ(Impulses(Bind("fft/c64/kind=c2c,n=74,batch=8/fill=normal/seed=0"), "f32;alg=fft").size(), 1u);
  const std::vector<Twin> nearest = Impulses(problem, "f32;alg=fft"), four = Impulses(problem, "f32;alg=fft;math=4"),
                          narrow = Impulses(problem, "tf32;alg=fft");
  ASSERT_EQ(nearest.size(), 1u);
  ASSERT_EQ(four.size(), 1u);
  ASSERT_EQ(narrow.size(), 1u);
  EXPECT_LT(nearest[0].tolerances[2], four[0].tolerances[2]);
  EXPECT_LT(four[0].tolerances[2], narrow[0].tolerances[2]);
  EXPECT_GT(nearest[0].rms, 0);
  EXPECT_EQ(narrow[0].rms, 0);
  const TwinResult angles = Judge(problem, four[0], DecimatedInTime, OfF32Angle);
  EXPECT_TRUE(angles.Holds()) << angles.Reason(problem.outputs[0].shape);
}

// The layers of a length: powers of two have one fewer that rounds, and convolutions, scaling and packing have more.
TEST(FftImpulse, DeviationFollowsTheLayers) {
  const auto variance = [](std::string_view shape, std::string_view contract) {
    const Problem problem = Bind(fmt::format("fft/{}/fill=normal/seed=0", shape));
    const Contract parsed = Declared(contract);
    const double unit = std::numbers::sqrt2 * kRoundingDeviation * 0x1p-24;
    return std::pow(FftImpulseDeviation(FftArgsOf(problem), parsed) / unit, 2);
  };
  EXPECT_NEAR(variance("c64/kind=c2c,n=8", "f32;alg=fft"), 0.25, 1e-12);
  EXPECT_NEAR(variance("c64/kind=c2c,n=64", "f32;alg=fft"), 1.75, 1e-12);
  EXPECT_NEAR(variance("c64/kind=c2c,n=8x64", "f32;alg=fft"), 2, 1e-12);
  EXPECT_NEAR(variance("c64/kind=c2c,n=64,norm=ortho", "f32;alg=fft"), 2.75, 1e-12);
  EXPECT_NEAR(variance("f32-c64/kind=r2c,n=64", "f32;alg=fft"), 2.75, 1e-12);
  EXPECT_NEAR(variance("c64/kind=c2c,n=60", "f32;alg=fft"), 0.5 + 1.5 + 1.0 / 2 + 2.0 / 3 + 4.0 / 5, 1e-12);
  EXPECT_NEAR(variance("c64/kind=c2c,n=60", "f32;alg=direct"), 1, 1e-12);
  EXPECT_NEAR(variance("c64/kind=c2c,n=60", "f32;alg=bluestein"), 24.5, 1e-12);
  EXPECT_GT(variance("c64/kind=c2c,n=64", "f32;alg=fft;math=4"), 50);
  EXPECT_EQ(variance("c64/kind=c2c,n=64", "acc=f32;mid=bf16;alg=fft"), 0);
}

// Every element of a long enough batch gets an impulse, of half spectra and several axes as well.
TEST(FftImpulse, PlacesCoverTheInputs) {
  for (const char* id :
       {"fft/c64/kind=c2c,n=60,batch=63/fill=normal/seed=0", "fft/f32-c64/kind=r2c,n=64,batch=67/fill=normal/seed=0",
        "fft/c64-f32/kind=c2r,n=30,batch=19/fill=normal/seed=0"}) {
    const Problem problem = Bind(id);
    const FftArgs fft = FftArgsOf(problem);
    const std::vector<double> x = Impulses(problem, "f32;alg=fft").at(0).inputs[0].ToDoubles();
    const int64_t in = NumElements(fft.InputAxes()), parts = fft.InputParts();
    std::vector<int> hit(static_cast<size_t>(in));
    for (int64_t i = 0; i < fft.batch * in; ++i)
      hit[static_cast<size_t>(i % in)] += x[static_cast<size_t>(i * parts)] != 0;
    EXPECT_TRUE(std::ranges::all_of(hit, [](int times) { return times > 0; })) << id;
  }
  const Problem planes = Bind("fft/c64-f32/kind=c2r,n=6x10,batch=9/fill=normal/seed=0");
  const std::vector<Twin> twins = Impulses(planes, "f32;alg=fft");
  ASSERT_EQ(twins.size(), 1u);
  for (size_t b = 0; b < 9; ++b) {
    const auto first = twins[0].expected.begin() + static_cast<int64_t>(60 * b);
    EXPECT_GE(*std::max_element(first, first + 60), 0.99) << b;
  }
}

}  // namespace
}  // namespace assay::test
