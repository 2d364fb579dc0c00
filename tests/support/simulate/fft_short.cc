// SPDX-License-Identifier: Apache-2.0
// A transform of 11 points with 20 products: Rader's cyclic convolution of 10 points (1968), cut by the Chinese
// remainder theorem into two residues modulo x - 1 and two modulo x^4 + x^3 + x^2 + x + 1, the products of the latter
// by Karatsuba's rule (Winograd 1978, Nussbaumer 1981).
#include <cmath>
#include <complex>
#include <span>

#include "tests/support/simulate/fft.h"

namespace assay::test {
namespace {

using Factor = std::complex<double>;  // known beforehand, rounded when it is used
constexpr int kPoints = 11, kRoot = 2;
constexpr int kHalf = (kPoints - 1) / 2;

C32 Sum(C32 a, C32 b) {
  return {a.re + b.re, a.im + b.im};
}
C32 Difference(C32 a, C32 b) {
  return {a.re - b.re, a.im - b.im};
}

// The factors are real or imaginary.
C32 Scaled(C32 a, Factor b) {
  const auto re = static_cast<float>(b.real()), im = static_cast<float>(b.imag());
  return std::abs(b.real()) > std::abs(b.imag()) ? C32{a.re * re, a.im * re} : C32{-(a.im * im), a.re * im};
}

// The product of two polynomials of two terms, and of four, by three products of half the length.
Signal Product2(std::span<const C32> a, std::span<const Factor> b) {
  const C32 low = Scaled(a[0], b[0]), high = Scaled(a[1], b[1]), both = Scaled(Sum(a[0], a[1]), b[0] + b[1]);
  return {low, Difference(Difference(both, low), high), high};
}

Signal Product4(std::span<const C32> a, std::span<const Factor> b) {
  const Signal low = Product2(a.subspan(0, 2), b.subspan(0, 2)), high = Product2(a.subspan(2), b.subspan(2));
  const Signal sums = {Sum(a[0], a[2]), Sum(a[1], a[3])};
  const Factor factors[] = {b[0] + b[2], b[1] + b[3]};
  Signal middle = Product2(sums, factors);
  for (size_t i = 0; i < 3; ++i) middle[i] = Difference(Difference(middle[i], low[i]), high[i]);
  return {low[0], low[1], Sum(low[2], middle[0]), middle[1], Sum(high[0], middle[2]), high[1], high[2]};
}

// Cyclic, of five terms.
Signal Convolve5(std::span<const C32> a, std::span<const Factor> b) {
  C32 all = a[0];
  Factor of_all = b[0];
  for (size_t i = 1; i < kHalf; ++i) all = Sum(all, a[i]), of_all += b[i];
  Signal residue;
  std::vector<Factor> factors;
  for (size_t i = 0; i + 1 < kHalf; ++i) {
    residue.push_back(Difference(a[i], a[4]));
    factors.push_back(b[i] - b[4]);
  }
  Signal product = Product4(residue, factors);
  product[0] = Sum(product[0], product[5]), product[1] = Sum(product[1], product[6]);
  for (size_t i = 0; i < 4; ++i) product[i] = Difference(product[i], product[4]);
  const C32 of_product = Sum(Sum(product[0], product[1]), Sum(product[2], product[3]));
  const C32 last = Difference(Scaled(all, of_all / 5.0), Scaled(of_product, 0.2));
  Signal y(kHalf, last);
  for (size_t i = 0; i < 4; ++i) y[i] = Sum(product[i], last);
  return y;
}

// Index of the i-th power of the primitive root.
std::vector<size_t> PowersOfRoot() {
  std::vector<size_t> powers = {1};
  while (powers.size() < kPoints - 1) powers.push_back(powers.back() * kRoot % kPoints);
  return powers;
}

}  // namespace

Signal ShortConvolution11(const Signal& x, const Twiddles& w) {
  const std::vector<size_t> power = PowersOfRoot();
  Signal plus, minus;
  std::vector<Factor> of_plus, of_minus;
  const auto twiddle = [&](size_t i) {
    const C32 value = w(static_cast<int64_t>(power[i]), kPoints);
    return Factor(value.re, value.im);
  };
  for (size_t i = 0; i < kHalf; ++i) {
    const C32 first = x[power[(10 - i) % 10]], second = x[power[5 - i]];
    const double sign = i % 2 == 0 ? 1 : -1;  // modulo x^5 + 1 by the substitution of -x
    const C32 difference = Difference(first, second);
    plus.push_back(Sum(first, second));
    minus.push_back(sign > 0 ? difference : C32{-difference.re, -difference.im});
    of_plus.emplace_back((twiddle(i) + twiddle(i + 5)).real() / 2);
    of_minus.push_back(Factor(0, (twiddle(i) - twiddle(i + 5)).imag() / 2 * sign));
  }
  const Signal even = Convolve5(plus, of_plus);
  Signal odd = Convolve5(minus, of_minus);
  Signal y(kPoints, x[0]);
  for (size_t i = 1; i < kPoints; ++i) y[0] = Sum(y[0], x[i]);
  for (size_t i = 0; i < kHalf; ++i) {
    if (i % 2 == 1) odd[i] = {-odd[i].re, -odd[i].im};
    y[power[i]] = Sum(x[0], Sum(even[i], odd[i]));
    y[power[i + 5]] = Sum(x[0], Difference(even[i], odd[i]));
  }
  return y;
}

}  // namespace assay::test
