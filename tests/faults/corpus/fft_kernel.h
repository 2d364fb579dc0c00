// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms as a kernel of replaceable steps: how one line is transformed, with which twiddles, and
// what surrounds the lines (axes, half spectra, scale, batch).
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "backends/common/fft_spec.h"
#include "tests/faults/corpus/arithmetic.h"
#include "tests/faults/corpus/entry.h"

namespace corpus {

using plugin::FftKind;
using plugin::FftSpec;

template <class T>
struct Point {
  T re = 0, im = 0;
  Point operator+(Point other) const { return {re + other.re, im + other.im}; }
  Point operator-(Point other) const { return {re - other.re, im - other.im}; }
  Point operator*(T factor) const { return {re * factor, im * factor}; }
  Point Conjugate() const { return {re, -im}; }
  Point TimesI() const { return {-im, re}; }
};

template <class T>
using Line = std::vector<Point<T>>;

template <class T>
Point<T> Product(Point<T> a, Point<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// By fused multiply-adds.
template <class T>
Point<T> FmaProduct(Point<T> a, Point<T> b) {
  return {std::fma(a.re, b.re, -(a.im * b.im)), std::fma(a.re, b.im, a.im * b.re)};
}

// e^(-2 pi i j / n), correctly rounded but for rare ties: the angle lies within an eighth of a turn.
template <class T>
Point<T> ComputedUnitRoot(int64_t j, int64_t n) {
  const int64_t octant = 8 * j / n, rest = 8 * j % n;
  const bool mirrored = octant % 2 != 0;
  const long double angle = static_cast<long double>(mirrored ? n - rest : rest) / static_cast<long double>(n) *
                            (std::numbers::pi_v<long double> / 4);
  Point<long double> p{std::cos(angle), std::sin(angle)};
  if (mirrored) p.im = -p.im;
  for (int64_t quarter = 0; quarter < (octant + 1) / 2; ++quarter) p = p.TimesI();
  return {static_cast<T>(p.re), static_cast<T>(-p.im)};
}

// From a table, where it is not too long: sines in long double would be most of a transform's time.
template <class T>
Point<T> UnitRoot(int64_t j, int64_t n) {
  constexpr int64_t kLongestTable = 1 << 16;
  if (n > kLongestTable) return ComputedUnitRoot<T>(j % n, n);
  thread_local std::map<int64_t, Line<T>> tables;
  Line<T>& table = tables[n];
  if (table.empty()) {
    table.reserve(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) table.push_back(ComputedUnitRoot<T>(i, n));
  }
  return table[static_cast<size_t>(j % n)];
}

inline int64_t PaddedLengthOf(int64_t n) {
  int64_t padded = 1;
  while (padded < 2 * n - 1) padded *= 2;
  return padded;
}

template <class T>
Point<T> SamePoint(Point<T> x) {
  return x;
}
template <class T>
void Untouched(Line<T>&) {}

template <class T>
T FftScaleOf(const FftSpec& s) {
  return static_cast<T>(s.scale);
}

inline int64_t SmallestFactor(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

template <class T>
struct FftKernel;
template <class T, int64_t (*kRadix)(int64_t)>
void RadixTransform(const FftKernel<T>& kernel, Line<T>& x);

template <class T>
struct FftKernel {
  // Transforms a line in place with the exponent's sign -.
  void (*transform)(const FftKernel&, Line<T>&) = RadixTransform<T, SmallestFactor>;
  bool packs_reals = false;  // two real values in a complex one, where the line is real and even
  bool pairs_rows = false;   // two real rows, of different transforms, in a complex one
  std::function<Point<T>(int64_t j, int64_t n)> root = UnitRoot<T>;
  std::function<Point<T>(Point<T>, Point<T>)> product = Product<T>;
  std::function<Point<T>(Point<T>)> stored = SamePoint<T>;    // of every stage's results
  std::function<int64_t(int64_t n)> padded = PaddedLengthOf;  // of a convolution
  std::function<void(Line<T>&)> finish = Untouched<T>;        // after each line's transform
  std::function<void(Line<T>&, int64_t n)> half = [](Line<T>&, int64_t) {
  };  // of half spectra: made by r2c, read by c2r
  std::function<T(const FftSpec&)> scale = FftScaleOf<T>;
  bool wrong_sign = false;
  bool untangles_wrongly = false;  // packed reals: the twiddles that take even and odd apart are conjugated
  int64_t axes_left_out = 0;       // leading ones
  int64_t batch_step_short = 0;    // points by which a batch's start lies too early, per batch
};

// The transforms of a line.
template <class T>
void DirectTransform(const FftKernel<T>& kernel, Line<T>& x) {
  const int64_t n = std::ssize(x);
  Line<T> y(x.size());
  for (int64_t k = 0; k < n; ++k) {
    Point<T> sum;
    for (int64_t j = 0; j < n; ++j) {
      sum = sum + kernel.product(x[static_cast<size_t>(j)], kernel.root(j * k % n, n));
    }
    y[static_cast<size_t>(k)] = sum;
  }
  x = y;
}

inline int64_t LargestFactor(int64_t n) {
  int64_t p = SmallestFactor(n);
  for (; n > p; p = SmallestFactor(n)) n /= p;
  return p;
}

inline int64_t FourOrSmallestFactor(int64_t n) {
  return n % 4 == 0 ? 4 : SmallestFactor(n);
}

// Cooley and Tukey, decimation in time; the radix of each stage by kRadix.
template <class T, int64_t (*kRadix)(int64_t)>
void RadixTransform(const FftKernel<T>& kernel, Line<T>& x) {
  const int64_t n = std::ssize(x);
  if (n == 1) return;
  const int64_t p = kRadix(n), m = n / p;
  std::vector<Line<T>> parts(static_cast<size_t>(p), Line<T>(static_cast<size_t>(m)));
  for (int64_t j = 0; j < n; ++j)
    parts[static_cast<size_t>(j % p)][static_cast<size_t>(j / p)] = x[static_cast<size_t>(j)];
  for (Line<T>& part : parts) RadixTransform<T, kRadix>(kernel, part);
  Line<T> z(static_cast<size_t>(p));
  for (int64_t k = 0; k < m; ++k) {
    for (int64_t r = 0; r < p; ++r) {
      const Point<T> element = parts[static_cast<size_t>(r)][static_cast<size_t>(k)];
      z[static_cast<size_t>(r)] = r * k == 0 ? element : kernel.product(element, kernel.root(r * k, n));
    }
    for (int64_t q = 0; q < p; ++q) x[static_cast<size_t>(k + q * m)] = kernel.stored(Butterfly(kernel, z, q));
  }
}

// Result q of the transform of the few points z. Those of 2 and 4 have no multiplications.
template <class T>
Point<T> Butterfly(const FftKernel<T>& kernel, const Line<T>& z, int64_t q) {
  if (z.size() == 2) return q == 0 ? z[0] + z[1] : z[0] - z[1];
  if (z.size() == 4) {
    const Point<T> even = q % 2 == 0 ? z[0] + z[2] : z[0] - z[2];
    const Point<T> odd = q % 2 == 0 ? z[1] + z[3] : (z[3] - z[1]).TimesI();
    return q < 2 ? even + odd : even - odd;
  }
  const int64_t p = std::ssize(z);
  Point<T> sum = z[0];
  for (int64_t r = 1; r < p; ++r) {
    const Point<T> term = z[static_cast<size_t>(r)];
    sum = sum + (q == 0 ? term : kernel.product(term, kernel.root(r * q, p)));
  }
  return sum;
}

// Stockham's radix 2: results in natural order from two buffers.
template <class T>
void StockhamTransform(const FftKernel<T>& kernel, Line<T>& x) {
  const int64_t n = std::ssize(x);
  Line<T> y(x.size());
  for (int64_t length = n, stride = 1; length > 1; length /= 2, stride *= 2) {
    for (int64_t j = 0; j < length / 2; ++j) {
      const Point<T> w = kernel.root(j, length);
      for (int64_t q = 0; q < stride; ++q) {
        const Point<T> a = x[static_cast<size_t>(q + stride * j)];
        const Point<T> b = x[static_cast<size_t>(q + stride * (j + length / 2))];
        y[static_cast<size_t>(q + stride * 2 * j)] = kernel.stored(a + b);
        y[static_cast<size_t>(q + stride * (2 * j + 1))] = kernel.stored(kernel.product(a - b, w));
      }
    }
    std::swap(x, y);
  }
}

// One half and two quarters.
template <class T>
void SplitRadixTransform(const FftKernel<T>& kernel, Line<T>& x) {
  const int64_t n = std::ssize(x), m = n / 4;
  if (n < 4) return RadixTransform<T, SmallestFactor>(kernel, x);
  Line<T> even, first, third;
  for (int64_t j = 0; j < n; ++j) (j % 2 == 0 ? even : j % 4 == 1 ? first : third).push_back(x[static_cast<size_t>(j)]);
  for (Line<T>* part : {&even, &first, &third}) SplitRadixTransform(kernel, *part);
  for (int64_t k = 0; k < m; ++k) {
    const auto at = [](int64_t i) { return static_cast<size_t>(i); };
    const Point<T> a = kernel.product(first[at(k)], kernel.root(k, n));
    const Point<T> b = kernel.product(third[at(k)], kernel.root(3 * k, n));
    const Point<T> sum = a + b, difference = (b - a).TimesI();
    x[at(k)] = kernel.stored(even[at(k)] + sum), x[at(k + 2 * m)] = kernel.stored(even[at(k)] - sum);
    x[at(k + m)] = kernel.stored(even[at(k + m)] + difference);
    x[at(k + 3 * m)] = kernel.stored(even[at(k + m)] - difference);
  }
}

// A convolution with a chirp, of a padded power of two.
template <class T>
void BluesteinTransform(const FftKernel<T>& kernel, Line<T>& x) {
  const int64_t n = std::ssize(x), padded = kernel.padded(n);
  if (n == 1) return;
  Line<T> a(static_cast<size_t>(padded)), b(static_cast<size_t>(padded)), chirp;
  for (int64_t j = 0; j < n; ++j) {
    const auto at = static_cast<size_t>(j);
    chirp.push_back(kernel.root(j * j % (2 * n), 2 * n));
    a[at] = kernel.product(x[at], chirp[at]);
    b[at] = chirp[at].Conjugate();
    if (j > 0) b[static_cast<size_t>(padded - j)] = b[at];
  }
  StockhamTransform(kernel, a), StockhamTransform(kernel, b);
  for (size_t i = 0; i < a.size(); ++i) a[i] = kernel.product(a[i], b[i]).Conjugate();
  StockhamTransform(kernel, a);
  for (size_t k = 0; k < x.size(); ++k) {
    x[k] = kernel.product(a[k].Conjugate() * (T{1} / static_cast<T>(padded)), chirp[k]);
  }
}

// "" for c64, c128 and their real sides; the output may be wider, for effects.
std::string FftWhyNot(Description op);
// f32 or f64, alg, det and batchinv.
std::string FftClass(Description op, const std::string& algorithm);
std::string FftContract(Description op);  // alg=fft
std::string FftBluesteinContract(Description op);

// Whether every length is a power of two; made of primes up to 31.
bool ArePowersOfTwo(const FftSpec& s);
bool AreSmooth(const FftSpec& s);

}  // namespace corpus
