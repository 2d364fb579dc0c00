// SPDX-License-Identifier: Apache-2.0
// Golden transforms against the definition in 256 bits, and their certified error.
#include "golden/fft/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

#include "golden/fft/fft_error.h"
#include "golden/fft/fft_transform.h"
#include "harness/core/base/parallel.h"
#include "tests/support/mpfr_dft.h"

namespace assay {
namespace {

DType InputType(const FftArgs& fft, bool wide) {
  if (fft.kind == FftKind::kR2C) return wide ? DType::kF64 : DType::kF32;
  return wide ? DType::kC128 : DType::kC64;
}

Tensor Input(const FftArgs& fft, bool wide, uint64_t seed = 1) {
  Shape shape = fft.InputAxes();
  shape.insert(shape.begin(), fft.batch);
  Tensor x(InputType(fft, wide), shape);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<size_t>(x.size() * fft.InputParts()));
  for (double& v : values) v = normal(random);
  if (fft.kind == FftKind::kC2R && fft.n.size() == 1) {
    const int64_t half = fft.n[0] / 2 + 1;
    for (int64_t b = 0; b < fft.batch; ++b) {
      values[2 * b * half + 1] = 0;
      if (fft.n[0] % 2 == 0) values[2 * (b * half + half - 1) + 1] = 0;
    }
  }
  x.SetDoubles(values);
  return x;
}

// Every `step`-th number of the output lies within its certified error, and that error is small: `bits` below ||y||.
void Check(const FftArgs& fft, Tier tier, bool wide, int64_t step = 1) {
  const Tensor x = Input(fft, wide);
  const Golden golden = GoldenFft(fft, x, tier, wide, 0);
  const bool fast = tier == Tier::kFast && !wide;
  EXPECT_EQ(golden.tier, fast ? Tier::kFast : Tier::kReproducible);
  ASSERT_EQ(golden.size(), fft.batch * NumElements(fft.OutputAxes()) * fft.OutputParts());
  test::ReferenceDft reference(fft, x.ToDoubles());
  for (int64_t i = 0; i < golden.size(); i += step) {
    const double lo = golden.value_lo.empty() ? 0 : golden.value_lo[i];
    const double error = reference.ErrorOf(i, golden.value[i], lo);
    ASSERT_LE(error, golden.error[i]) << "n=" << ShapeText(fft.n) << " number " << i << " value " << golden.value[i];
    ASSERT_LE(golden.error[i], std::ldexp((*golden.Extra("norm2"))[i], fast ? -40 : -85));
  }
}

TEST(UnitRoot, IsNearTheExactPoint) {
  test::Mpfr angle, sine, cosine;
  for (const int64_t n : {1, 2, 3, 5, 8, 12, 24, 35, 64, 100, 127, 1000, 1024, 1009, 999983, 1 << 20}) {
    const std::vector<UnitRoot> roots = ConjugateRoots(n);
    ASSERT_EQ(std::ssize(roots), n);
    for (int64_t step = std::max<int64_t>(1, n / 600), j = 0; j < n; j += step) {
      mpfr_const_pi(angle.x, MPFR_RNDN);
      mpfr_mul_si(angle.x, angle.x, -2 * j, MPFR_RNDN);
      mpfr_div_si(angle.x, angle.x, n, MPFR_RNDN);
      mpfr_sin_cos(sine.x, cosine.x, angle.x, MPFR_RNDN);
      for (const auto& [part, exact] : {std::pair(roots[j].re, &cosine), std::pair(roots[j].im, &sine)}) {
        ASSERT_LE(exact->DistanceFrom(part.hi, part.lo), kUnitRootError) << j << "/" << n;
      }
    }
  }
}

TEST(UnitRoot, QuarterTurnsAreExact) {
  for (const int64_t n : {4, 16, 1000}) {
    const std::vector<UnitRoot> roots = ConjugateRoots(n);
    for (int64_t quarter = 0; quarter < 4; ++quarter) {
      const UnitRoot& root = roots[n / 4 * quarter];
      EXPECT_EQ(root.re.hi, (std::array{1, 0, -1, 0}[quarter]));
      EXPECT_EQ(root.im.hi, (std::array{0, -1, 0, 1}[quarter]));
      EXPECT_EQ(root.re.lo, 0);
      EXPECT_EQ(root.im.lo, 0);
    }
  }
}

TEST(GoldenFft, EveryShortLength) {
  for (int64_t n = 1; n <= 64; ++n) {
    for (const FftKind kind : {FftKind::kC2C, FftKind::kR2C, FftKind::kC2R}) {
      for (const bool inverse : {false, true}) {
        const FftArgs fft{.kind = kind, .n = {n}, .batch = 1, .inverse = inverse};
        Check(fft, Tier::kFast, false);
        Check(fft, Tier::kReproducible, false);
      }
    }
  }
}

TEST(GoldenFft, Primes) {
  for (int64_t n = 67; n <= 257; n += 2) {
    if (PrimeFactors(n).size() > 1) continue;
    Check({.n = {n}}, Tier::kFast, false, 3);
    Check({.n = {n}}, Tier::kReproducible, true, 7);
  }
}

TEST(GoldenFft, LongLengthsSampled) {
  for (const int64_t n : {360, 400, 1000, 1009, 2048, 4096, 8192, 2 * 1009, 9 * 1024, 31 * 31 * 7}) {
    Check({.kind = FftKind::kC2C, .n = {n}, .norm = FftNorm::kOrtho}, Tier::kFast, false, 2 * n / 17);
    Check({.kind = FftKind::kR2C, .n = {n}}, Tier::kReproducible, true, n / 13);
    Check({.kind = FftKind::kC2R, .n = {n}, .inverse = true, .norm = FftNorm::kBackward}, Tier::kReproducible, false,
          n / 13);
  }
}

TEST(GoldenFft, SeveralAxesAndBatches) {
  for (const Shape& n : {Shape{4, 6}, Shape{5, 7}, Shape{3, 4, 5}, Shape{2, 1, 9}, Shape{37, 4}, Shape{8, 8}}) {
    for (const FftNorm norm : {FftNorm::kNone, FftNorm::kOrtho, FftNorm::kBackward}) {
      for (const bool inverse : {false, true}) {
        Check({.kind = FftKind::kC2C, .n = n, .batch = 3, .inverse = inverse, .norm = norm}, Tier::kFast, false);
        Check({.kind = FftKind::kR2C, .n = n, .batch = 2, .inverse = inverse, .norm = norm}, Tier::kReproducible, true);
      }
    }
  }
}

// A real signal of several axes, there and back: c2r of the half spectrum is the signal.
TEST(GoldenFft, InverseRestoresTheSignal) {
  for (const Shape& n : {Shape{30}, Shape{31}, Shape{4, 6}, Shape{5, 7}, Shape{3, 4, 6}, Shape{37, 41}}) {
    const FftArgs there{.kind = FftKind::kR2C, .n = n, .batch = 2};
    const Tensor x = Input(there, true);
    const Golden spectrum = GoldenFft(there, x, Tier::kReproducible, true, 0);
    const FftArgs back{.kind = FftKind::kC2R, .n = n, .batch = 2, .inverse = true, .norm = FftNorm::kBackward};
    Shape shape = there.OutputAxes();
    shape.insert(shape.begin(), 2);
    Tensor half(DType::kC128, shape);
    half.SetDoubles(spectrum.value);
    const Golden restored = GoldenFft(back, half, Tier::kReproducible, true, 0);
    const std::vector<double> signal = x.ToDoubles();
    for (size_t i = 0; i < signal.size(); ++i) ASSERT_NEAR(restored.value[i], signal[i], 1e-13);
  }
}

TEST(GoldenFft, Parseval) {
  const FftArgs fft{.n = {12, 20}, .norm = FftNorm::kOrtho};
  const Tensor x = Input(fft, true);
  const Golden golden = GoldenFft(fft, x, Tier::kReproducible, true, 0);
  double in = 0, out = 0;
  for (const double v : x.ToDoubles()) in += v * v;
  for (const double v : golden.value) out += v * v;
  EXPECT_NEAR(out / in, 1, 1e-13);
  EXPECT_NEAR((*golden.Extra("norm2"))[0] / std::sqrt(in), 1, 1e-12);
}

TEST(GoldenFft, BitsDoNotDependOnThreads) {
  const int threads = ThreadCount();
  for (const FftArgs& fft :
       {FftArgs{.n = {16384}}, FftArgs{.n = {1009}, .batch = 11}, FftArgs{.n = {30, 42}, .batch = 3}}) {
    for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
      const Tensor x = Input(fft, false);
      SetThreadCount(1);
      const Golden one = GoldenFft(fft, x, tier, false, 0);
      SetThreadCount(3);
      const Golden three = GoldenFft(fft, x, tier, false, 0);
      EXPECT_EQ(one.value, three.value);
      EXPECT_EQ(one.value_lo, three.value_lo);
    }
  }
  SetThreadCount(threads);
}

// Pinned: a changed bit is a changed golden value.
TEST(GoldenFft, ReproducibleBitsArePinned) {
  uint64_t hash = 0;
  for (const Shape& n : {Shape{360}, Shape{127}, Shape{8192}, Shape{6, 35}}) {
    const FftArgs fft{.n = n};
    Tensor x(DType::kC64, [&] {
      Shape s = n;
      s.insert(s.begin(), 1);
      return s;
    }());
    std::vector<double> values(static_cast<size_t>(2 * x.size()));
    uint32_t state = 1;
    for (double& v : values) v = static_cast<double>((state = state * 1664525 + 1013904223) >> 9) * 0x1p-22 - 1;
    x.SetDoubles(values);
    const Golden golden = GoldenFft(fft, x, Tier::kReproducible, false, 0);
    for (const auto* part : {&golden.value, &golden.value_lo}) {
      hash = hash * 31 + HashBytes(part->data(), part->size() * sizeof(double));
    }
  }
  EXPECT_EQ(HashHex(hash), "fecbc18ef4048140");
}

TEST(GoldenFft, KeepsItsAccuracyAtTheEndsOfTheRange) {
  for (const double scale : {0x1p-1060, 0x1p-1000, 0x1p1000}) {
    const FftArgs fft{.n = {30}};
    Tensor x(DType::kC128, {1, 30});
    std::vector<double> values(60);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = std::ldexp(std::sin(1.0 + static_cast<double>(i)), 0) * scale;
    x.SetDoubles(values);
    const Golden golden = GoldenFft(fft, x, Tier::kReproducible, true, 0);
    test::ReferenceDft reference(fft, values);
    for (int64_t i = 0; i < golden.size(); ++i) {
      ASSERT_LE(reference.ErrorOf(i, golden.value[i], golden.value_lo[i]), golden.error[i]) << scale;
      ASSERT_TRUE(std::isfinite(golden.value[i]));
    }
  }
  Tensor huge(DType::kC128, {1, 4});
  huge.SetDoubles(std::vector<double>{1.5e308, 0, 1.5e308, 0, 1.5e308, 0, 1.5e308, 0});
  const Golden golden = GoldenFft({.n = {4}}, huge, Tier::kReproducible, true, 0);
  EXPECT_EQ(golden.value[0], HUGE_VAL);
  EXPECT_EQ(golden.value[2], 0);
}

TEST(GoldenFft, NonFiniteInputs) {
  Tensor x(DType::kF32, {2, 8});
  std::vector<double> values(16, 1);
  values[1] = NAN, values[8 + 2] = HUGE_VAL;
  x.SetDoubles(values);
  const Golden golden = GoldenFft({.kind = FftKind::kR2C, .n = {8}, .batch = 2}, x, Tier::kFast, false, 0);
  EXPECT_TRUE(std::isnan(golden.value[0]));
  EXPECT_EQ(golden.error[1], HUGE_VALF) << "sin 0 = 0: nothing is claimed of the DC term's imaginary part";
  EXPECT_TRUE(std::isnan(golden.value[2]) && std::isnan(golden.value[3]));
  EXPECT_EQ(golden.error[4], HUGE_VALF) << "cos(pi/2) = 0";
  EXPECT_TRUE(std::isnan(golden.value[5]));
  EXPECT_EQ(golden.value[10], HUGE_VAL);
  EXPECT_EQ(golden.magnitude[10], HUGE_VALF) << "an infinity of any sign, or NaN";
}

TEST(FftError, GrowsWithTheLogarithmOnly) {
  const FftArithmetic f32{.u = 0x1p-24, .twiddle = 0x1p-24};
  EXPECT_NEAR(RadixError(1024, f32), 10 * (1 + 4 * std::sqrt(2.0)) * 0x1p-24, 1e-10);
  EXPECT_NEAR(RadixError(1 << 20, f32) / RadixError(1024, f32), 2, 1e-4);
  EXPECT_LT(BluesteinError(1009, f32), 20 * RadixError(1024, f32));
  EXPECT_EQ(PaddedLength(1009), 2048);
  EXPECT_EQ(PrimeFactors(360), (std::vector<int64_t>{2, 2, 2, 3, 3, 5}));
}

}  // namespace
}  // namespace assay
