// SPDX-License-Identifier: Apache-2.0
// One stage of prime p is y = F (D x): D holds unit twiddles, F butterflies with ||F||_2 = sqrt(p), || |F| ||_2 = p.
// A complex product errs by sqrt(2) gamma_2, relatively (ASNA lemma 3.5), a twiddle by mu. A butterfly output is two
// real sums of at most p + 1 operations deep, so that it errs by sqrt(2) gamma_{p+2} sum |z_j|: sqrt(2p) gamma_{p+2}
// of ||y||_2. For p = 2 the butterfly is one addition, which gives the theorem's eta = mu + gamma_4 (sqrt(2) + mu).
#include "golden/fft_error.h"

#include <cmath>
#include <numbers>

#include "golden/bound.h"

namespace assay {
namespace {

using std::numbers::sqrt2;

double ProductError(const FftArithmetic& a) {
  return (a.twiddle + sqrt2 * Gamma(2, a.u)) * (1 + a.twiddle) + a.operand * (2 + a.operand);
}

double StageError(int64_t p, const FftArithmetic& a) {
  const auto radix = static_cast<double>(p);
  const double narrow = std::sqrt(radix) * a.operand * (2 + a.operand) + a.stored;
  if (p == 2) return a.twiddle + Gamma(4, a.u) * (sqrt2 + a.twiddle) + narrow;
  if (p > kLargestButterfly) return BluesteinError(p, a) + ProductError(a);
  const double butterfly = std::sqrt(radix) * (a.twiddle + sqrt2 * Gamma(radix + 2, a.u) * (1 + a.twiddle));
  return (1 + butterfly) * (1 + ProductError(a)) - 1 + narrow;
}

// max |DFT of the chirp| / sqrt(n): 2.448 at n = 5, 2.2 beyond n = 7; every angle meets at most two stretches where
// the chirp's frequency equals its own, each a Fresnel integral with its overshoot.
constexpr double kChirpPeak = 2.5;

}  // namespace

std::vector<int64_t> PrimeFactors(int64_t n) {
  std::vector<int64_t> factors;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  if (n > 1) factors.push_back(n);
  return factors;
}

int64_t PaddedLength(int64_t n) {
  int64_t padded = 1;
  while (padded < 2 * n - 1) padded *= 2;
  return padded;
}

double RadixError(int64_t n, const FftArithmetic& a) {
  double sum = 0;
  for (const int64_t p : PrimeFactors(n)) sum += std::log1p(StageError(p, a));
  return std::expm1(sum);
}

// Norms: ||A||_2 = sqrt(M) ||x||_2; the product with the chirp's spectrum grows it by at most its peak; the way back
// divides by sqrt(M); ||y||_2 = sqrt(n) ||x||_2. All errors are relative to peak ||y||_2.
double BluesteinError(int64_t n, const FftArithmetic& a, double kernel_growth) {
  if (n == 1) return 0;
  const double transform = RadixError(PaddedLength(n), a);
  const double sum =
      3 * std::log1p(ProductError(a)) + 2 * std::log1p(transform) + std::log1p(kernel_growth * transform);
  return kChirpPeak * std::expm1(sum);
}

double DirectError(int64_t n, const FftArithmetic& a) {
  if (n == 1) return 0;
  const double sum = sqrt2 * Gamma(static_cast<double>(n) + 1, a.u);
  return (1 + sum) * (1 + a.twiddle) * (1 + a.operand * (2 + a.operand)) * (1 + a.stored) - 1;
}

}  // namespace assay
