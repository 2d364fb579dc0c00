// SPDX-License-Identifier: Apache-2.0
// Transforms whose steps are rows of tables, and more ways to factor a transform.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "tests/faults/corpus/fft_plan.h"
#include "tests/faults/corpus/held/summation.h"
#include "tests/faults/corpus/struck.h"

namespace corpus {

template <class T>
Point<T>& AtOf(Line<T>& x, int64_t i) {
  return x[static_cast<size_t>(i)];
}

// The first of some radices that divides n and leaves something, else its smallest prime factor.
template <int64_t... kRadices>
int64_t FirstOf(int64_t n) {
  int64_t found = 0;
  ((found == 0 && n % kRadices == 0 && n > kRadices ? found = kRadices : 0), ...);
  return found == 0 ? SmallestFactor(n) : found;
}
// The largest divisor up to the square root.
inline int64_t NearRoot(int64_t n) {
  int64_t found = 1;
  for (int64_t p = 2; p * p <= n; ++p) found = n % p == 0 ? p : found;
  return found == 1 ? n : found;
}
// A factor that is coprime to the rest, where there is one.
inline int64_t Coprime(int64_t n) {
  int64_t p = SmallestFactor(n), power = p;
  while (n / power % p == 0) power *= p;
  return power == n ? p : power;
}

// n = p m, columns of p and rows of m, each factored further; the columns first or last. Twiddles stand between them.
template <class T, int64_t (*kSplit)(int64_t), bool kInFrequency>
void TwoFactorTransform(const FftKernel<T>& kernel, Line<T>& x) {
  const int64_t n = std::ssize(x), p = n > 1 ? kSplit(n) : 1, m = n / p;
  if (n == 1) return;
  if (m == 1) return RadixTransform<T, SmallestFactor>(kernel, x);
  const auto columns = [&](auto place) {
    Line<T> column(static_cast<size_t>(p));
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t r = 0; r < p; ++r) AtOf(column, r) = AtOf(x, place(i, r));
      TwoFactorTransform<T, kSplit, kInFrequency>(kernel, column);
      for (int64_t r = 0; r < p; ++r) AtOf(x, place(i, r)) = AtOf(column, r);
    }
  };
  const auto twiddle = [&](Line<T>& row, int64_t r) {
    for (int64_t k = 1; k < m && r > 0; ++k) AtOf(row, k) = kernel.product(AtOf(row, k), kernel.root(r * k, n));
  };
  std::vector<Line<T>> rows(static_cast<size_t>(p), Line<T>(static_cast<size_t>(m)));
  if constexpr (kInFrequency) {  // element i + m r: columns over r, then rows over i, results p k + r
    columns([m](int64_t i, int64_t r) { return i + m * r; });
    for (int64_t r = 0; r < p; ++r) {
      Line<T>& row = rows[static_cast<size_t>(r)];
      for (int64_t i = 0; i < m; ++i) AtOf(row, i) = AtOf(x, i + m * r);
      twiddle(row, r);
      TwoFactorTransform<T, kSplit, kInFrequency>(kernel, row);
    }
    for (int64_t i = 0; i < n; ++i) AtOf(x, i) = kernel.stored(AtOf(rows[static_cast<size_t>(i % p)], i / p));
  } else {  // element p i + r: rows over i, then columns over r, results k + m q
    for (int64_t r = 0; r < p; ++r) {
      Line<T>& row = rows[static_cast<size_t>(r)];
      for (int64_t i = 0; i < m; ++i) AtOf(row, i) = AtOf(x, p * i + r);
      TwoFactorTransform<T, kSplit, kInFrequency>(kernel, row);
      twiddle(row, r);
    }
    for (int64_t i = 0; i < n; ++i) AtOf(x, i) = kernel.stored(AtOf(rows[static_cast<size_t>(i / m)], i % m));
    columns([m](int64_t i, int64_t r) { return i + m * r; });
  }
}

// Good and Thomas: coprime factors need no twiddles between them. Lengths without such factors: powers of one prime.
template <class T>
void PrimeFactorTransform(const FftKernel<T>& kernel, Line<T>& x) {
  const int64_t n = std::ssize(x);
  if (n == 1) return;
  const int64_t p = Coprime(n), m = n / p;
  if (m == 1 || std::gcd(p, m) != 1) return RadixTransform<T, FourOrSmallestFactor>(kernel, x);
  std::vector<Line<T>> rows(static_cast<size_t>(p), Line<T>(static_cast<size_t>(m)));
  for (int64_t r = 0; r < p; ++r) {
    Line<T>& row = rows[static_cast<size_t>(r)];
    for (int64_t i = 0; i < m; ++i) AtOf(row, i) = AtOf(x, (r * m + i * p) % n);
    PrimeFactorTransform(kernel, row);
  }
  Line<T> column(static_cast<size_t>(p));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t r = 0; r < p; ++r) AtOf(column, r) = AtOf(rows[static_cast<size_t>(r)], i);
    PrimeFactorTransform(kernel, column);
    for (int64_t r = 0; r < p; ++r) AtOf(rows[static_cast<size_t>(r)], i) = AtOf(column, r);
  }
  for (int64_t k = 0; k < n; ++k) AtOf(x, k) = kernel.stored(AtOf(rows[static_cast<size_t>(k % p)], k % m));
}

// Rader: the transform of a prime length as a cyclic convolution of one less. Other lengths: by factors.
template <class T>
void RaderTransform(const FftKernel<T>& kernel, Line<T>& x) {
  const int64_t n = std::ssize(x), m = n - 1;
  if (n < 5 || SmallestFactor(n) != n) return RadixTransform<T, SmallestFactor>(kernel, x);
  const auto powers_of = [&](int64_t g) {
    std::vector<int64_t> powers{1};
    while (std::ssize(powers) < m) powers.push_back(powers.back() * g % n);
    return powers;
  };
  const auto generates = [&](int64_t g) {
    const std::vector<int64_t> powers = powers_of(g);
    return std::count(powers.begin(), powers.end(), int64_t{1}) == 1;
  };
  int64_t g = 2;
  while (!generates(g)) ++g;
  const std::vector<int64_t> powers = powers_of(g);
  const auto power = [&](int64_t i) { return powers[static_cast<size_t>((i % m + m) % m)]; };
  Line<T> a, b;
  Point<T> sum = x[0];
  for (int64_t i = 0; i < m; ++i) {
    a.push_back(AtOf(x, power(i)));
    b.push_back(kernel.root(power(-i), n));
    sum = sum + a.back();
  }
  RadixTransform<T, SmallestFactor>(kernel, a);
  RadixTransform<T, SmallestFactor>(kernel, b);
  for (int64_t i = 0; i < m; ++i) AtOf(a, i) = kernel.product(AtOf(a, i), AtOf(b, i)).Conjugate();
  RadixTransform<T, SmallestFactor>(kernel, a);
  const Point<T> first = x[0];
  x[0] = kernel.stored(sum);
  for (int64_t i = 0; i < m; ++i) {
    AtOf(x, power(-i)) = kernel.stored(first + AtOf(a, i).Conjugate() * (T{1} / static_cast<T>(m)));
  }
}

std::vector<Entry> FftHeldTwiddles();  // roots, products, roundings
std::vector<Entry> FftHeldPlaces();    // results, half spectra, scales, memory
std::vector<Entry> FftHeldLegal();

}  // namespace corpus
