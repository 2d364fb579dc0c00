// SPDX-License-Identifier: Apache-2.0
#include "tests/support/simulate/fft.h"

#include <cmath>
#include <map>
#include <numbers>

#include "golden/fft/fft_error.h"

namespace assay::test {
namespace {

C32 operator+(C32 a, C32 b) {
  return {a.re + b.re, a.im + b.im};
}
C32 operator-(C32 a, C32 b) {
  return {a.re - b.re, a.im - b.im};
}
C32 operator*(C32 a, C32 b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
C32 Conjugate(C32 a) {
  return {a.re, -a.im};
}

int64_t Size(const Signal& x) {
  return static_cast<int64_t>(x.size());
}

Signal Every(const Signal& x, int64_t first, int64_t step) {
  Signal part;
  for (int64_t i = first; i < Size(x); i += step) part.push_back(x[i]);
  return part;
}

// Mixed radix, smallest factor first; `turn` multiplies by a twiddle.
Signal Decimated(const Signal& x, const Twiddles& w, C32 (*turn)(C32, C32)) {
  const int64_t n = Size(x);
  if (n == 1) return x;
  const int64_t p = PrimeFactors(n).front(), m = n / p;
  std::vector<Signal> parts;
  for (int64_t r = 0; r < p; ++r) parts.push_back(Decimated(Every(x, r, p), w, turn));
  Signal y(x.size());
  for (int64_t k = 0; k < m; ++k) {
    for (int64_t t = 0; t < p; ++t) {
      C32 sum = parts[0][k];
      for (int64_t r = 1; r < p; ++r) {
        const C32 turned = turn(parts[r][k], w(r * k, n));
        if (p == 2) {
          sum = t == 0 ? sum + turned : sum - turned;
        } else {
          sum = sum + turned * w(r * t % p, p);
        }
      }
      y[k + t * m] = sum;
    }
  }
  return y;
}

C32 PairwiseSum(const Signal& terms, int64_t begin, int64_t end) {
  if (end - begin == 1) return terms[begin];
  const int64_t middle = (begin + end) / 2;
  return PairwiseSum(terms, begin, middle) + PairwiseSum(terms, middle, end);
}

}  // namespace

C32 RoundedTwiddle(int64_t j, int64_t n) {
  const long double angle = -2 * std::numbers::pi_v<long double> * static_cast<long double>(j % n) / n;
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

C32 RecurrentTwiddle(int64_t j, int64_t n, int bits) {
  static std::map<std::pair<int64_t, int>, Signal> tables;
  Signal& table = tables[{n, bits}];
  if (table.empty()) {
    table = {{1, 0}};
    C32 first = RoundedTwiddle(1, n);
    const float unit = std::ldexp(1.0f, bits);
    if (bits < 24) first = {std::round(first.re * unit) / unit, std::round(first.im * unit) / unit};
    for (int64_t k = 1; k < n; ++k) table.push_back(table.back() * first);
  }
  return table[j % n];
}

Signal DecimatedInTime(const Signal& x, const Twiddles& w) {
  return Decimated(x, w, [](C32 a, C32 b) { return a * b; });
}

Signal DecimatedByThreeProducts(const Signal& x, const Twiddles& w) {
  return Decimated(x, w, [](C32 a, C32 b) -> C32 {
    const float re = a.re * b.re, im = a.im * b.im, both = (a.re + a.im) * (b.re + b.im);
    return {re - im, both - re - im};
  });
}

Signal DecimatedInFrequency(const Signal& x, const Twiddles& w) {
  const int64_t n = Size(x);
  if (n == 1) return x;
  const int64_t p = PrimeFactors(n).back(), m = n / p;
  Signal y(x.size());
  for (int64_t t = 0; t < p; ++t) {
    Signal part;
    for (int64_t j = 0; j < m; ++j) {
      C32 sum = x[j];
      for (int64_t u = 1; u < p; ++u) {
        const C32 term = x[j + u * m];
        sum = p == 2 ? (t == 0 ? sum + term : sum - term) : sum + term * w(u * t % p, p);
      }
      part.push_back(sum * w(j * t, n));
    }
    const Signal done = DecimatedInFrequency(part, w);
    for (int64_t k = 0; k < m; ++k) y[k * p + t] = done[k];
  }
  return y;
}

Signal Stockham2(const Signal& x, const Twiddles& w) {
  Signal from = x, to(x.size());
  for (int64_t length = Size(x), s = 1; length > 1; length /= 2, s *= 2) {
    const int64_t m = length / 2;
    for (int64_t p = 0; p < m; ++p) {
      for (int64_t q = 0; q < s; ++q) {
        const C32 a = from[q + s * p], b = from[q + s * (p + m)];
        to[q + s * 2 * p] = a + b;
        to[q + s * (2 * p + 1)] = (a - b) * w(p, length);
      }
    }
    from.swap(to);
  }
  return from;
}

Signal BluesteinLine(const Signal& x, const Twiddles& w) {
  const int64_t n = Size(x), padded = PaddedLength(n);
  Signal a(static_cast<size_t>(padded)), kernel(static_cast<size_t>(padded)), chirp;
  for (int64_t j = 0; j < n; ++j) {
    chirp.push_back(w(j * j % (2 * n), 2 * n));
    a[j] = x[j] * chirp[j];
    kernel[j] = kernel[(padded - j) % padded] = Conjugate(chirp[j]);
  }
  const Signal left = DecimatedInTime(a, w), right = DecimatedInFrequency(kernel, w);
  Signal product;
  for (int64_t k = 0; k < padded; ++k) product.push_back(Conjugate(left[k] * right[k]));
  const Signal back = DecimatedInTime(product, w);
  Signal y;
  const float scale = 1 / static_cast<float>(padded);
  for (int64_t k = 0; k < n; ++k) {
    const C32 c = Conjugate(back[k]);
    y.push_back(C32{c.re * scale, c.im * scale} * chirp[k]);
  }
  return y;
}

Signal DirectSequential(const Signal& x, const Twiddles& w) {
  Signal y;
  for (int64_t k = 0; k < Size(x); ++k) {
    C32 sum;
    for (int64_t j = 0; j < Size(x); ++j) sum = sum + x[j] * w(j * k % Size(x), Size(x));
    y.push_back(sum);
  }
  return y;
}

Signal DirectPairwise(const Signal& x, const Twiddles& w) {
  Signal y, terms(x.size());
  for (int64_t k = 0; k < Size(x); ++k) {
    for (int64_t j = 0; j < Size(x); ++j) terms[j] = x[j] * w(j * k % Size(x), Size(x));
    y.push_back(PairwiseSum(terms, 0, Size(x)));
  }
  return y;
}

Signal RealPacked(const Signal& x, const Twiddles& w) {
  const int64_t n = Size(x), half = n / 2;
  Signal packed, y(x.size());
  for (int64_t j = 0; j < half; ++j) packed.push_back({x[2 * j].re, x[2 * j + 1].re});
  const Signal z = DecimatedInTime(packed, w);
  for (int64_t k = 0; k < half; ++k) {
    const C32 a = z[k], b = Conjugate(z[(half - k) % half]);
    const C32 even = {(a.re + b.re) / 2, (a.im + b.im) / 2};
    const C32 odd = {(a.im - b.im) / 2, (b.re - a.re) / 2};  // (a - b) / (2i)
    const C32 turned = odd * w(k, n);
    y[k] = even + turned;
    y[k + half] = even - turned;
  }
  return y;
}

const std::vector<NamedLine>& LegalLines() {
  static const std::vector<NamedLine> lines = {
      {"decimated in time", "fft", DecimatedInTime},
      {"decimated in frequency", "fft", DecimatedInFrequency},
      {"stockham", "fft", Stockham2},
      {"three multiplications", "fft", DecimatedByThreeProducts},
      {"bluestein", "bluestein", BluesteinLine},
      {"direct, sequential", "direct", DirectSequential},
      {"direct, pairwise", "direct", DirectPairwise},
      {"real packed", "fft", RealPacked},
  };
  return lines;
}

}  // namespace assay::test
