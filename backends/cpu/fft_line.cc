// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/fft_line.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "backends/common/fft_spec.h"

namespace cpu {
namespace {

struct Point {
  double re, im;
};

// e^(2 pi i j / n): reduced in integers to an eighth of a turn, where sine and cosine are accurate and symmetric.
Point UnitPoint(int64_t j, int64_t n) {
  const int64_t octant = 8 * j / n, rest = 8 * j % n;
  const bool mirrored = octant % 2 != 0;
  const auto part = static_cast<long double>(mirrored ? n - rest : rest) / static_cast<long double>(n);
  const long double angle = part * (std::numbers::pi_v<long double> / 4);
  Point p{static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
  if (mirrored) p.im = -p.im;
  for (int64_t quarter = 0; quarter < (octant + 1) / 2; ++quarter) p = {-p.im, p.re};
  return p;
}

// Mixed-radix Stockham: decimation in frequency, results in natural order, no permutation.
template <class T>
class RadixLine final : public LineFft<T> {
 public:
  explicit RadixLine(int64_t n) : n_(n), roots_(Roots<T>(n)) {
    for (; n % 4 == 0; n /= 4) radices_.push_back(4);
    for (const int64_t p : plugin::PrimeFactors(n)) radices_.push_back(p);
  }
  int64_t WorkSize() const override { return n_; }

  void Run(T* re, T* im, Line<T>& work) const override {
    T *from[2] = {re, im}, *to[2] = {work.re.data(), work.im.data()};
    int64_t length = n_, s = 1;
    for (const int64_t radix : radices_) {
      const int64_t m = length / radix;
      for (int64_t p = 0; p < m; ++p) {
        if (radix == 2) {
          Two(from, to, p, m, s);
        } else if (radix == 4) {
          Four(from, to, p, m, s);
        } else {
          Odd(from, to, p, m, s, radix);
        }
      }
      std::swap(from, to);
      length = m, s *= radix;
    }
    if (from[0] == re) return;
    std::copy_n(from[0], n_, re);
    std::copy_n(from[1], n_, im);
  }

 private:
  // w = e^(-2 pi i p t / (radix m)) is root p t (n / (radix m)) = p t s of the table.
  void Two(T* const* from, T* const* to, int64_t p, int64_t m, int64_t s) const {
    const T c = roots_.re[p * s], d = roots_.im[p * s];
    for (int64_t q = 0; q < s; ++q) {
      const int64_t a = p * s + q, b = a + m * s, out = 2 * p * s + q;
      const T re = from[0][a] - from[0][b], im = from[1][a] - from[1][b];
      to[0][out] = from[0][a] + from[0][b], to[1][out] = from[1][a] + from[1][b];
      to[0][out + s] = re * c - im * d, to[1][out + s] = re * d + im * c;
    }
  }

  void Four(T* const* from, T* const* to, int64_t p, int64_t m, int64_t s) const {
    T c[4], d[4];
    for (int64_t t = 1; t < 4; ++t) c[t] = roots_.re[t * p * s], d[t] = roots_.im[t * p * s];
    for (int64_t q = 0; q < s; ++q) {
      const T *x = from[0] + p * s + q, *y = from[1] + p * s + q;
      const int64_t step = m * s, out = 4 * p * s + q;
      const T sum02[2] = {x[0] + x[2 * step], y[0] + y[2 * step]},
              sum13[2] = {x[step] + x[3 * step], y[step] + y[3 * step]};
      const T dif02[2] = {x[0] - x[2 * step], y[0] - y[2 * step]},
              dif13[2] = {x[step] - x[3 * step], y[step] - y[3 * step]};
      to[0][out] = sum02[0] + sum13[0], to[1][out] = sum02[1] + sum13[1];
      Put(to, out + s, dif02[0] + dif13[1], dif02[1] - dif13[0], c[1], d[1]);
      Put(to, out + 2 * s, sum02[0] - sum13[0], sum02[1] - sum13[1], c[2], d[2]);
      Put(to, out + 3 * s, dif02[0] - dif13[1], dif02[1] + dif13[0], c[3], d[3]);
    }
  }

  static void Put(T* const* to, int64_t at, T re, T im, T c, T d) {
    to[0][at] = re * c - im * d, to[1][at] = re * d + im * c;
  }

  void Odd(T* const* from, T* const* to, int64_t p, int64_t m, int64_t s, int64_t radix) const {
    const int64_t turn = n_ / radix;
    for (int64_t q = 0; q < s; ++q) {
      const T *x = from[0] + p * s + q, *y = from[1] + p * s + q;
      for (int64_t t = 0; t < radix; ++t) {
        T re = x[0], im = y[0];
        for (int64_t u = 1; u < radix; ++u) {
          const T c = roots_.re[u * t % radix * turn], d = roots_.im[u * t % radix * turn];
          const T a = x[u * m * s], b = y[u * m * s];
          re += a * c - b * d, im += a * d + b * c;
        }
        Put(to, (radix * p + t) * s + q, re, im, roots_.re[p * t * s], roots_.im[p * t * s]);
      }
    }
  }

  int64_t n_;
  Line<T> roots_;
  std::vector<int64_t> radices_;
};

// The transform as a cyclic convolution with a chirp c_j = e^(-i pi j^2 / n), of a padded power of two.
template <class T>
class BluesteinLine final : public LineFft<T> {
 public:
  explicit BluesteinLine(int64_t n)
      : n_(n), padded_(plugin::PaddedLength(n)), inner_(padded_), chirp_(n), kernel_(padded_) {
    const Line<T> roots = Roots<T>(2 * n);
    for (int64_t j = 0; j < n; ++j) {
      const int64_t at = j * j % (2 * n), mirror = (padded_ - j) % padded_;
      chirp_.re[j] = roots.re[at], chirp_.im[j] = roots.im[at];
      kernel_.re[j] = kernel_.re[mirror] = roots.re[at], kernel_.im[j] = kernel_.im[mirror] = -roots.im[at];
    }
    Line<T> work(padded_);
    inner_.Run(kernel_.re.data(), kernel_.im.data(), work);
    // The division by the padded length is exact; here it costs nothing later.
    for (T& v : kernel_.re) v /= static_cast<T>(padded_);
    for (T& v : kernel_.im) v /= static_cast<T>(padded_);
  }
  int64_t WorkSize() const override { return 2 * padded_; }

  void Run(T* re, T* im, Line<T>& work) const override {
    Line<T> inner_work(padded_);
    T *a = work.re.data(), *b = work.im.data();
    Multiply(re, im, chirp_, n_, a, b);
    std::fill(a + n_, a + padded_, T{0}), std::fill(b + n_, b + padded_, T{0});
    inner_.Run(a, b, inner_work);
    Multiply(a, b, kernel_, padded_, a, b);
    inner_.Run(b, a, inner_work);  // parts exchanged: the way back
    Multiply(a, b, chirp_, n_, re, im);
  }

 private:
  static void Multiply(const T* re, const T* im, const Line<T>& by, int64_t n, T* out_re, T* out_im) {
    for (int64_t j = 0; j < n; ++j) {
      const T x = re[j], y = im[j];
      out_re[j] = x * by.re[j] - y * by.im[j], out_im[j] = x * by.im[j] + y * by.re[j];
    }
  }

  int64_t n_, padded_;
  RadixLine<T> inner_;
  Line<T> chirp_, kernel_;
};

// The defining sum, over ascending j.
template <class T>
class DirectLine final : public LineFft<T> {
 public:
  explicit DirectLine(int64_t n) : n_(n), roots_(Roots<T>(n)) {}
  int64_t WorkSize() const override { return n_; }

  void Run(T* re, T* im, Line<T>& work) const override {
    for (int64_t k = 0; k < n_; ++k) {
      T sum_re = 0, sum_im = 0;
      for (int64_t j = 0, at = 0; j < n_; ++j) {
        const T c = roots_.re[at], d = roots_.im[at];
        sum_re += re[j] * c - im[j] * d, sum_im += re[j] * d + im[j] * c;
        at += k;
        if (at >= n_) at -= n_;
      }
      work.re[k] = sum_re, work.im[k] = sum_im;
    }
    std::copy_n(work.re.data(), n_, re);
    std::copy_n(work.im.data(), n_, im);
  }

 private:
  int64_t n_;
  Line<T> roots_;
};

}  // namespace

template <class T>
Line<T> Roots(int64_t n) {
  Line<T> roots(n);
  for (int64_t j = 0; j < n; ++j) {
    const Point p = UnitPoint(j, n);
    roots.re[j] = static_cast<T>(p.re), roots.im[j] = static_cast<T>(-p.im);
  }
  return roots;
}

template <class T>
std::unique_ptr<LineFft<T>> MakeLineFft(FftAlgorithm algorithm, int64_t n) {
  if (algorithm == FftAlgorithm::kDirect) return std::make_unique<DirectLine<T>>(n);
  if (algorithm == FftAlgorithm::kBluestein) return std::make_unique<BluesteinLine<T>>(n);
  return std::make_unique<RadixLine<T>>(n);
}

template std::unique_ptr<LineFft<float>> MakeLineFft(FftAlgorithm algorithm, int64_t n);
template std::unique_ptr<LineFft<double>> MakeLineFft(FftAlgorithm algorithm, int64_t n);

}  // namespace cpu
