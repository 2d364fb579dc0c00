// SPDX-License-Identifier: Apache-2.0
// One stage of prime p is y = F (D x): D holds unit twiddles, F butterflies with ||F||_2 = sqrt(p), || |F| ||_2 = p.
// A complex product errs by sqrt(2) gamma_2, relatively (ASNA lemma 3.5), a twiddle by mu. A butterfly output is two
// real sums of at most p + 1 operations deep, so that it errs by sqrt(2) gamma_{p+2} sum |z_j|: sqrt(2p) gamma_{p+2}
// of ||y||_2. For p = 2 the butterfly is one addition, which gives the theorem's eta = mu + gamma_4 (sqrt(2) + mu).
#include "golden/fft/fft_error.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "golden/bound/bound.h"
#include "harness/core/data/dtype.h"

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
  if (p > kLargestButterfly) return (1 + BluesteinError(p, a)) * (1 + ProductError(a)) - 1 + narrow;
  const double butterfly = std::sqrt(radix) * (a.twiddle + sqrt2 * Gamma(radix + 2, a.u) * (1 + a.twiddle));
  return (1 + butterfly) * (1 + ProductError(a)) - 1 + narrow;
}

// max |H_k| / sqrt(n) of the chirp's spectrum, at any frequency: 2.448 at n = 5. For large n an angle meets two
// frequencies of the chirp, each a Fresnel integral of at most sqrt(n), but at the chirp's ends, where inner and outer
// overshoot add up to 1.35: 2.35 (Poisson's summation formula; the rest is O(1)). Tested for each n up to 1024.
constexpr double kChirpPeak = 2.5;

}  // namespace

FftArithmetic ArithmeticOf(const Contract& contract) {
  // Arithmetic that truncates, and says so by its output rounding, errs by up to 2u.
  const double u = (contract.RoundsToNearest() ? 1 : 2) * contract.AccUnitRoundoff();
  double stored = 0;
  if (contract.mid != Intermediate::kNone) {
    stored = FormatOf(contract.mid == Intermediate::kF16 ? DType::kF16 : DType::kBF16).UnitRoundoff();
  }
  return {.u = u,
          .twiddle = std::max(1.0, 2 * contract.math_ulp) * u,
          .operand = contract.InputUnitRoundoff(),
          .stored = stored};
}

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

double Compose(double log_sum, int64_t points, bool convolution) {
  const double error = std::expm1(log_sum);
  return convolution ? error * (1 + std::sqrt(static_cast<double>(points)) * error) : error;
}

double RadixError(int64_t n, const FftArithmetic& a) {
  double sum = 0;
  bool convolution = false;
  for (const int64_t p : PrimeFactors(n)) {
    sum += std::log1p(StageError(p, a));
    convolution = convolution || p > kLargestButterfly;
  }
  return Compose(sum, n, convolution);
}

// y_k = c_k b_k, b = F^-1 (H . A), A = F (x . c), H = F h; F of length M, h the chirp's 2n - 1 conjugates, c_k and h_j
// of modulus 1, v = ||x||_2, so that ||y||_2 = sqrt(n) v, ||A||_2 = sqrt(M) v and ||H||_2 = sqrt(M (2n - 1)). With e_p
// of a complex product, e_t of a transform of length M, both relative to norms (Higham, ASNA 2nd ed., lemma 3.5 and
// theorem 24.2), and kappa = (1 + mu)(1 + e_t) - 1 of the rounded chirp's transform, ||dH||_2 <= kappa ||H||_2:
// - Up to the product A is off by ||dA||_2 <= (s - 1) ||A||_2, s = (1 + e_p)^2 (1 + e_t), the product's own rounding
//   included. What that does to any b_k is (1/M) |sum H_j dA_j w_jk| <= ||H||_2 ||dA||_2 / M <= sqrt(2) (s - 1) ||y||_2
//   by Cauchy and Schwarz; no k needs to know how the error is spread.
// - dH in the same way: ||dH||_2 s ||A||_2 / M <= sqrt(2) kappa s ||y||_2.
// - The way back adds e_t ||B||_2 / sqrt(M) in norm, where B = H . A with all its errors has ||B||_2 <= s (peak sqrt(n)
// +
//   ||dH||_2) ||A||_2: e_t s (peak + sqrt(2 M) kappa) ||y||_2. Its division by M is exact.
// - The last product rounds b_k with these errors: |b_k| <= ||y||_2.
// All of it holds for every element, not for the norm of their errors, which may be sqrt(n) times as large. Stages and
// axes that follow combine one element of each line, so that sums of lines grow in norm as those of exact ones do; only
// products with their own rounding see the larger norm (Compose).
double BluesteinError(int64_t n, const FftArithmetic& a) {
  if (n == 1) return 0;
  const int64_t padded = 2 * PaddedLength(n);
  const double transform = RadixError(padded, a), product = (1 + ProductError(a)) * (1 + a.stored) - 1;
  const double before = (1 + product) * (1 + product) * (1 + transform);
  const double kernel = (1 + a.twiddle) * (1 + transform) - 1;
  const double back = transform * before * (kChirpPeak + std::sqrt(2 * static_cast<double>(padded)) * kernel);
  return (1 + product) * (sqrt2 * (before - 1) + sqrt2 * kernel * before + back) + product;
}

// Terms that are zero are added exactly. A butterfly of 3, 5 or 7 multiplies its one input by constants of modulus up
// to one and adds few such products, which are within the sums that StageError allows for, of one term. Butterflies
// of larger primes may be short convolutions, whose factors are larger, and have the bound of any data. There is one
// layer of twiddles between two stages each; the turns by an eighth within a radix of 8 are among them.
double ImpulseError(int64_t n, const FftArithmetic& a) {
  const double narrow = a.operand * (2 + a.operand) + a.stored;
  double sum = 0;
  bool is_first = true;
  for (const int64_t p : PrimeFactors(n)) {
    const double constants = p == 2 ? 0 : a.twiddle + sqrt2 * Gamma(static_cast<double>(p) + 2, a.u) * (1 + a.twiddle);
    const double turn = is_first ? 0 : ProductError(a);
    sum += std::log1p(p > 7 ? StageError(p, a) : (1 + constants) * (1 + turn) - 1 + narrow);
    is_first = false;
  }
  return std::expm1(sum);
}

double DirectImpulseError(const FftArithmetic& a) {
  return (1 + ProductError(a)) * (1 + a.stored) - 1;
}

double PackingError(const FftArithmetic& a) {
  return (1 + RadixError(2, a)) * (1 + 2 * a.u) - 1;
}

double DirectError(int64_t n, const FftArithmetic& a) {
  if (n == 1) return 0;
  const double sum = sqrt2 * Gamma(static_cast<double>(n) + 1, a.u);
  return (1 + sum) * (1 + a.twiddle) * (1 + a.operand * (2 + a.operand)) * (1 + a.stored) - 1;
}

}  // namespace assay
