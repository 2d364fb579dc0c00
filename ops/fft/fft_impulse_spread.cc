// SPDX-License-Identifier: Apache-2.0
// The deviation of the errors that the outputs of an impulse have. It is far below that of random data: what is added
// is zero, so that butterflies of 2 round nothing, and an output sees the twiddle of a layer only where its turn is not
// zero. Errors of twiddles stay as large as they are with any data.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "golden/fft/fft_error.h"
#include "ops/fft/fft.h"

namespace assay {
namespace {

// Variances are in units of a product with a rounded twiddle: 0.6 u of the modulus, squared.

// A transform forward, a product and a transform back, of the padded length, and the kernel's transform: 3.5 per bit
// is the most that simulated ones have (tests/support/simulate/fft.cc).
double ImpulseConvolutionVariance(int64_t n) {
  return 3.5 * std::log2(static_cast<double>(PaddedLength(n)));
}

// Butterflies of 3, 5 and 7 multiply an impulse once, by constants, or by those of Winograd's short forms, some of
// which are above 1. Of 11 and 13 points these have the errors of KernelVariance (fft_bound.cc) in few of their
// outputs. Larger primes may be convolutions by Rader's algorithm.
double ButterflyVariance(int64_t p) {
  const auto points = static_cast<double>(p);
  if (p == 11 || p == 13) return points * points;
  return p > 13 ? ImpulseConvolutionVariance(p) : points / 2 - 1;
}

// Between stages lies a layer of twiddles, of which one in p is 1. Among powers of two one more layer turns by quarters
// alone, which is exact, and one by eighths, half of whose turns are quarters.
double RadixVariance(int64_t n) {
  double variance = 0;
  bool is_first = true;
  for (const int64_t p : PrimeFactors(n)) {
    if (!is_first) variance += 1 - 1 / static_cast<double>(p);
    variance += ButterflyVariance(p);
    is_first = false;
  }
  return std::has_single_bit(static_cast<uint64_t>(n)) ? std::max(variance - 0.75, 0.0) : variance;
}

double AxisVariance(int64_t n, Algorithm algorithm) {
  if (n == 1) return 0;
  if (algorithm == Algorithm::kBluestein) return ImpulseConvolutionVariance(n);
  return algorithm == Algorithm::kDirect ? 1 : RadixVariance(n);
}

}  // namespace

double FftImpulseDeviation(const FftArgs& fft, const Contract& contract) {
  if (!HasFftStatistic(contract)) return 0;
  // Taking packed reals apart and scaling are a product more each.
  double variance = (fft.kind == FftKind::kC2C ? 0 : 1) + (fft.norm == FftNorm::kNone ? 0 : 1);
  for (const int64_t n : fft.n) variance += AxisVariance(n, contract.alg);
  // Several axes of four points may be transformed as one of more.
  variance = std::max(variance, 0.25);
  return std::numbers::sqrt2 * kRoundingDeviation * contract.AccUnitRoundoff() * FftTwiddleScale(contract) *
         std::sqrt(variance);
}

}  // namespace assay
