// SPDX-License-Identifier: Apache-2.0
// The bound of Bluestein's transform against schedules that the class permits: either padded length, every direction of
// rounding, twiddles wrong by all that is declared, in directions that add up where it hurts most.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "golden/fft/fft_error.h"
#include "harness/core/data/dtype.h"
#include "harness/core/data/fill/rng.h"
#include "tests/support/full.h"
#include "tests/support/mpfr_dft.h"

namespace assay {
namespace {

using Complex = std::complex<double>;
using Signal = std::vector<Complex>;
using LongComplex = std::complex<long double>;

constexpr double kU32 = 0x1p-24, kU64 = 0x1p-53;

LongComplex Root(int64_t j, int64_t n) {  // e^(-2 pi i j / n)
  const long double angle = -2 * std::numbers::pi_v<long double> * static_cast<long double>(j % n) / n;
  return {std::cos(angle), std::sin(angle)};
}

Complex ToDouble(LongComplex w) {
  return {static_cast<double>(w.real()), static_cast<double>(w.imag())};
}

enum class Rounding : uint8_t { kNearest, kZero, kUp, kDown, kRandom, kF64 };
enum class Twist : uint8_t { kNone, kTurned, kGrown, kRandom, kAligned };

// Arithmetic in f32, rounded as told, or in f64 to nearest; and the twiddles that it is given.
class Unit {
 public:
  Unit(Rounding rounding, Twist twist, uint64_t seed) : rounding_(rounding), twist_(twist), random_(seed, 3) {}

  double Round(double x) const {
    if (rounding_ == Rounding::kF64 || x == 0) return x;
    const auto near = static_cast<float>(x);
    if (rounding_ == Rounding::kNearest || static_cast<double>(near) == x) return near;
    bool away = rounding_ == Rounding::kRandom && random_.Below(count_++, 2) == 0;
    if (rounding_ == Rounding::kUp) away = x > 0;
    if (rounding_ == Rounding::kDown) away = x < 0;
    const float toward_zero = std::abs(near) > std::abs(x) ? std::nextafterf(near, 0.0f) : near;
    return away ? std::nextafterf(toward_zero, std::copysign(HUGE_VALF, near)) : toward_zero;
  }
  Complex Add(Complex a, Complex b) const { return {Round(a.real() + b.real()), Round(a.imag() + b.imag())}; }
  Complex Mul(Complex a, Complex b) const {
    return {Round(Round(a.real() * b.real()) - Round(a.imag() * b.imag())),
            Round(Round(a.real() * b.imag()) + Round(a.imag() * b.real()))};
  }

  double u() const {
    if (rounding_ == Rounding::kF64) return kU64;
    return rounding_ == Rounding::kNearest ? kU32 : 2 * kU32;
  }
  // The perturbation, and the rounding of both parts.
  FftArithmetic Arithmetic() const { return {.u = u(), .twiddle = (twist_ == Twist::kNone ? 1 : 4) * u()}; }

  // w = e^(-2 pi i j / n); `aligned` is the direction in which kAligned adds its error.
  Complex Twiddle(int64_t j, int64_t n, Complex aligned = 0) const {
    const LongComplex exact = Root(j, n);
    const double size = 2.5 * u(), some = 2 * std::numbers::pi * random_.Uniform(count_++);
    LongComplex w = exact;
    if (twist_ == Twist::kTurned) w *= LongComplex(1, size);
    if (twist_ == Twist::kGrown) w *= 1 + static_cast<long double>(size);
    if (twist_ == Twist::kRandom) w *= LongComplex(1 + size * std::cos(some), size * std::sin(some));
    if (twist_ == Twist::kAligned) w += LongComplex(aligned) * static_cast<long double>(size);
    if (rounding_ == Rounding::kF64) return ToDouble(w);
    return {static_cast<float>(w.real()), static_cast<float>(w.imag())};
  }

 private:
  Rounding rounding_;
  Twist twist_;
  RandomStream random_;
  mutable uint64_t count_ = 0;
};

// Radix 2, decimated in time or, Stockham's, in frequency.
Signal InTime(const Signal& x, const Signal& w, const Unit& unit) {
  const size_t n = x.size(), half = n / 2, step = w.size() / n;
  if (n == 1) return x;
  Signal even, odd, y(n);
  for (size_t i = 0; i < n; i += 2) even.push_back(x[i]), odd.push_back(x[i + 1]);
  even = InTime(even, w, unit), odd = InTime(odd, w, unit);
  for (size_t k = 0; k < half; ++k) {
    const Complex turned = unit.Mul(odd[k], w[k * step]);
    y[k] = unit.Add(even[k], turned), y[k + half] = unit.Add(even[k], -turned);
  }
  return y;
}

Signal InFrequency(const Signal& x, const Signal& w, const Unit& unit) {
  Signal from = x, to(x.size());
  for (size_t length = x.size(), s = 1; length > 1; length /= 2, s *= 2) {
    const size_t m = length / 2;
    for (size_t p = 0; p < m; ++p) {
      for (size_t q = 0; q < s; ++q) {
        const Complex a = from[q + s * p], b = from[q + s * (p + m)];
        to[q + s * 2 * p] = unit.Add(a, b);
        to[q + s * (2 * p + 1)] = unit.Mul(unit.Add(a, -b), w[p * (w.size() / length)]);
      }
    }
    from.swap(to);
  }
  return from;
}

// `bin` of the chirp's spectrum is where aligned errors of the kernel add up.
Signal Bluestein(const Signal& x, int64_t padded, bool in_time, int64_t bin, const Unit& unit, bool wrong = false) {
  const auto n = static_cast<int64_t>(x.size());
  Signal w, a(static_cast<size_t>(padded)), kernel(a.size()), chirp, y;
  for (int64_t k = 0; k < padded; ++k) w.push_back(unit.Twiddle(k, padded, ToDouble(Root(k, padded))));
  const auto transform = [&](const Signal& in) { return in_time ? InTime(in, w, unit) : InFrequency(in, w, unit); };
  for (int64_t j = 0; j < n; ++j) {
    chirp.push_back(unit.Twiddle(j * j, 2 * n, ToDouble(Root(j * j, 2 * n))));
    a[j] = unit.Mul(x[j], chirp[j]);
    // An error of the conjugate that is e^(2 pi i j bin / M) adds up at that frequency.
    const auto entry = [&](int64_t at) {
      return std::conj(unit.Twiddle(j * j, 2 * n, ToDouble(Root(at * bin % padded, padded))));
    };
    kernel[j] = entry(j);
    if (j > 0) kernel[padded - j] = entry(padded - j);
  }
  const Signal left = transform(a), right = transform(kernel);
  Signal product;
  for (size_t k = 0; k < left.size(); ++k)
    product.push_back(std::conj(unit.Mul(left[k], wrong ? kernel[k] : right[k])));
  const Signal back = transform(product);
  const double scale = 1 / static_cast<double>(padded);
  for (int64_t k = 0; k < n; ++k) y.push_back(unit.Mul(std::conj(back[k]) * scale, chirp[k]));
  return y;
}

// Noise; a tone of the input; what the chirp turns into one of the padded transform; an impulse.
Signal MakeSignal(int kind, int64_t n, int64_t padded, int64_t bin, uint64_t seed) {
  const RandomStream random(seed, 1);
  Signal x;
  for (int64_t j = 0; j < n; ++j) {
    Complex value(random.Normal(2 * j), random.Normal(2 * j + 1));
    if (kind == 1) value = ToDouble(Root(j * (bin % n), n));
    if (kind == 2) value = ToDouble(std::conj(Root(j * j, 2 * n)) * std::conj(Root(j * bin % padded, padded)));
    if (kind == 3) value = j == n / 3 ? 1 : 0;
    x.emplace_back(static_cast<float>(value.real()), static_cast<float>(value.imag()));
  }
  return x;
}

std::vector<LongComplex> Exact(const Signal& x) {
  const auto n = static_cast<int64_t>(x.size());
  std::vector<LongComplex> y, roots;
  for (int64_t j = 0; j < n; ++j) roots.push_back(Root(j, n));
  for (int64_t k = 0; k < n; ++k) {
    LongComplex sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += LongComplex(x[j]) * roots[j * k % n];
    y.push_back(sum);
  }
  return y;
}

// Largest |error| of an element over the bound.
double Margin(const Signal& got, const std::vector<LongComplex>& want, const FftArithmetic& arithmetic) {
  long double squares = 0, largest = 0;
  for (size_t k = 0; k < got.size(); ++k) {
    squares += std::norm(want[k]);
    largest = std::max(largest, std::abs(LongComplex(got[k]) - want[k]));
  }
  const double bound = BluesteinError(static_cast<int64_t>(got.size()), arithmetic);
  return static_cast<double>(largest / std::sqrt(squares)) / bound;
}

constexpr int64_t kLengths[] = {2, 3, 5, 7, 31, 37, 61, 64, 67, 127, 128, 131, 251, 257, 509, 521, 1009, 1021, 1031};

TEST(BluesteinBound, HoldsForEveryRoundingTwiddleAndPaddedLength) {
  double largest = 0;
  std::string where;
  int ran = 0;
  for (const int64_t n : kLengths) {
    for (const int64_t padded : {PaddedLength(n), 2 * PaddedLength(n)}) {
      for (int kind = 0; kind < 4; ++kind) {
        const auto seed = static_cast<uint64_t>(1000 * kind + n);
        const int64_t bin = static_cast<int64_t>(RandomStream(seed, 2).Below(0, static_cast<uint64_t>(padded)));
        const Signal x = MakeSignal(kind, n, padded, bin, seed);
        const std::vector<LongComplex> want = Exact(x);
        for (int at = 0; at < 25; ++at, ++ran) {
          if (!test::kIsFull && n > 60 && (at + kind) % 3 != 0) continue;
          if (n > 300 && (at + kind) % 5 != 0) continue;
          if (n > 600 && (at + kind) % 25 != 0) continue;
          const auto rounding = static_cast<Rounding>(at % 5);
          const Unit unit(rounding, static_cast<Twist>(at / 5), seed + static_cast<uint64_t>(at));
          const double margin = Margin(Bluestein(x, padded, (at + kind) % 2 == 0, bin, unit), want, unit.Arithmetic());
          ASSERT_LE(margin, 1) << "n=" << n << " M=" << padded << " signal " << kind << " schedule " << at;
          if (margin > largest) where = fmt::format("n={} M={} signal {} schedule {}", n, padded, kind, at);
          largest = std::max(largest, margin);
        }
      }
    }
  }
  EXPECT_GT(ran, test::kIsFull ? 3000 : 1500);
  EXPECT_GT(largest, 0.02) << "the bound says nothing";
  RecordProperty("largest_margin", fmt::format("{:.4f}", largest));
  fmt::print("bluestein: {} runs, largest error {:.4f} of the bound at {}\n", ran, largest, where);
}

TEST(BluesteinBound, ManySeedsOfShortLengths) {
  double largest = 0;
  for (const int64_t n : {3, 7, 31, 37, 61, 67}) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
      const int64_t padded = PaddedLength(n) * (seed % 2 == 0 ? 1 : 2), bin = static_cast<int64_t>(seed) % padded;
      const Signal x = MakeSignal(static_cast<int>(seed / 2 % 3), n, padded, bin, seed);
      const Unit unit(static_cast<Rounding>(seed % 5), static_cast<Twist>(seed / 5 % 5), seed);
      const double margin = Margin(Bluestein(x, padded, seed % 3 == 0, bin, unit), Exact(x), unit.Arithmetic());
      ASSERT_LE(margin, 1) << "n=" << n << " seed " << seed;
      largest = std::max(largest, margin);
    }
  }
  RecordProperty("largest_margin", fmt::format("{:.4f}", largest));
}

TEST(BluesteinBound, HoldsInF64AgainstMpfr) {
  double largest = 0;
  for (const int64_t n : {5, 37, 127, 257, 521}) {
    for (int at = 0; at < 10; ++at) {
      const int64_t padded = PaddedLength(n) * (at % 2 + 1), bin = n / 2;
      const Signal x = MakeSignal(at % 3, n, padded, bin, static_cast<uint64_t>(at));
      std::vector<double> numbers;
      for (const Complex& value : x) numbers.push_back(value.real()), numbers.push_back(value.imag());
      test::ReferenceDft witness({.kind = FftKind::kC2C, .n = {n}}, numbers);
      const Unit unit(Rounding::kF64, static_cast<Twist>(at / 2), static_cast<uint64_t>(at));
      const Signal got = Bluestein(x, padded, at % 3 == 0, bin, unit);
      double squares = 0;
      for (const Complex& value : x) squares += static_cast<double>(n) * std::norm(value);
      const double bound = BluesteinError(n, unit.Arithmetic()) * std::sqrt(squares);
      for (int64_t k = 0; k < n; k += std::max<int64_t>(1, n / 40)) {
        const double error =
            std::hypot(witness.ErrorOf(2 * k, got[k].real(), 0), witness.ErrorOf(2 * k + 1, got[k].imag(), 0));
        ASSERT_LE(error, bound) << "n=" << n << " schedule " << at << " element " << k;
        largest = std::max(largest, error / bound);
      }
    }
  }
  EXPECT_GT(largest, 0.01);
  RecordProperty("largest_margin", fmt::format("{:.4f}", largest));
  fmt::print("bluestein in f64: largest error {:.4f} of the bound\n", largest);
}

TEST(BluesteinBound, FaultsExceedIt) {
  const Unit unit(Rounding::kNearest, Twist::kNone, 0);
  for (const int64_t n : {31, 67, 131}) {
    const Signal x = MakeSignal(0, n, PaddedLength(n), 1, 5);
    const std::vector<LongComplex> want = Exact(x);
    EXPECT_GT(Margin(Bluestein(x, PaddedLength(n), true, 1, unit, true), want, unit.Arithmetic()), 100);
    EXPECT_GT(Margin(Bluestein(x, PaddedLength(n) / 2, true, 1, unit), want, unit.Arithmetic()), 100) << "wraps around";
  }
}

// |H(t)|^2 is largest between the points of a grid by less than 1 / cos^2(pi (n - 1) / K): a trigonometric polynomial
// of degree n - 1 on K points (Ehlich and Zeller, Math. Z. 86, 1964).
TEST(BluesteinBound, TheChirpsSpectrumHasThePeakThatItAssumes) {
  const Unit exact(Rounding::kF64, Twist::kNone, 0);
  double peak = 0;
  Signal w;
  for (int64_t n = 2; n <= 1024; ++n) {
    const int64_t grid = (n <= 32 ? 64 : 8) * PaddedLength(n);
    if (static_cast<int64_t>(w.size()) != grid) {
      w.clear();
      for (int64_t k = 0; k < grid; ++k) w.push_back(ToDouble(Root(k, grid)));
    }
    Signal kernel(static_cast<size_t>(grid));
    for (int64_t j = 0; j < n; ++j) kernel[j] = kernel[(grid - j) % grid] = ToDouble(std::conj(Root(j * j, 2 * n)));
    double largest = 0;
    for (const Complex& value : InFrequency(kernel, w, exact)) largest = std::max(largest, std::abs(value));
    const double beyond = std::cos(std::numbers::pi * static_cast<double>(n - 1) / static_cast<double>(grid));
    ASSERT_LE(largest / beyond / std::sqrt(static_cast<double>(n)), 2.5) << n;
    peak = std::max(peak, largest / std::sqrt(static_cast<double>(n)));
  }
  EXPECT_GT(peak, 2.4);
  RecordProperty("peak", fmt::format("{:.4f}", peak));
}

}  // namespace
}  // namespace assay
