// SPDX-License-Identifier: Apache-2.0
// The hard bound of fft, absolute and the same for every output of one transform, because an error made
// anywhere reaches all of them: |dy_k| <= c ||y||_2 with c from golden/fft/fft_error.h by the contract's algorithm, one
// transform per axis; for alg=direct c ||x||_1.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "golden/element.h"
#include "golden/fft/fft_error.h"
#include "ops/fft/fft.h"

namespace assay {
namespace {

double AxisError(int64_t n, Algorithm algorithm, const FftArithmetic& a) {
  switch (algorithm) {
    case Algorithm::kDirect:
      return DirectError(n, a);
    case Algorithm::kBluestein:
      return BluesteinError(n, a);
    default:
      return RadixError(n, a);
  }
}

bool HasLargeFactor(const FftArgs& fft) {
  return std::ranges::any_of(fft.n, [](int64_t n) {
    const std::vector<int64_t> factors = PrimeFactors(n);
    return !factors.empty() && factors.back() > kLargestButterfly;
  });
}

double RelativeError(const FftArgs& fft, Algorithm algorithm, const FftArithmetic& a) {
  double sum = 0;
  for (const int64_t n : fft.n) sum += std::log1p(AxisError(n, algorithm, a));
  if (fft.kind != FftKind::kC2C && algorithm != Algorithm::kDirect) sum += std::log1p(PackingError(a));
  if (fft.norm != FftNorm::kNone) sum += std::log1p(4 * a.u);  // a root or quotient, rounded, and its product
  const bool convolution = IsFftConvolution(fft, algorithm);
  // Taking even and odd parts apart adds two elements of one line, ||y||_2 grows by sqrt(2) only.
  const double packed = convolution && fft.kind == FftKind::kR2C ? std::numbers::sqrt2 : 1;
  return packed * Compose(sum, fft.Points(), convolution);
}

// How far intermediate results may exceed ||x||_1 in either part. Butterflies add up partial sums of the transform; a
// chirp's spectrum multiplies by up to 2.5 sqrt(n), and the way back may leave its division by M to the end.
double Growth(const FftArgs& fft, bool convolution) {
  double growth = 2;
  if (!convolution) return growth;
  for (const int64_t n : fft.n)
    growth *= 2.5 * std::sqrt(static_cast<double>(n)) * static_cast<double>(PaddedLength(n));
  return growth;
}

// Operations whose underflow can reach one output, each with the largest factor that follows: at most 16 per point and
// stage; through a convolution, those of the padded length times the chirp's spectrum.
double Underflows(const FftArgs& fft, bool convolution) {
  double count = 1, stages = 2;
  for (const int64_t n : fft.n) {
    const auto length = static_cast<double>(n);
    stages += std::log2(length);
    count *= convolution ? 2.5 * std::sqrt(length) * static_cast<double>(PaddedLength(n)) : length;
  }
  return 16 * count * (convolution ? 4 : stages);
}

// The variance of a factor's stage in units of a radix-2 stage's. A sum of p terms in order has running sums of up to
// the whole: 0.425^2 p^2 / 3 against 0.6^2 per bit. Random terms stay far below that. A convolution makes three
// transforms of the padded length, each sqrt(2) larger.
double SummedVariance(double terms) {
  return std::max(std::log2(terms), terms * terms / 6);
}

// Kernels of 11 and 13 points are often short convolutions: 20 products (Rader 1968, Winograd 1978), whose factors go
// up to 2.9 and whose sums, of which the result is a difference, to several times the data. By the errors of its
// operations (tests/support/simulate/fft_short.cc) one of 11 points has a deviation of 7 u of the root mean square in
// two outputs where a stage of radix 2 has 0.6 u, a variance of 1.1 p^2 of that; VkFFT's have 7.1 and, of 13 points, 4.
// They are sums of products of the data with roundings, which has longer tails than the normal distribution: the
// largest of a million is 10 deviations. With this variance the threshold stands at 13 of them.
double KernelVariance(int64_t p) {
  const auto points = static_cast<double>(p);
  return p == 11 || p == 13 ? 3 * points * points : SummedVariance(points);
}

double ConvolutionVariance(int64_t n) {
  return 6 * std::log2(static_cast<double>(PaddedLength(n)));
}

double SigmaScale(const FftArgs& fft, Algorithm algorithm) {
  const auto points = static_cast<double>(fft.Points());
  if (points < 2) return 1;
  double variance = 0;
  for (const int64_t n : fft.n) {
    if (n == 1) continue;
    if (algorithm == Algorithm::kBluestein) variance += ConvolutionVariance(n);
    if (algorithm != Algorithm::kFft) continue;
    for (const int64_t p : PrimeFactors(n)) {
      variance += p > kLargestButterfly ? ConvolutionVariance(p) : KernelVariance(p);
    }
  }
  if (algorithm != Algorithm::kFft && algorithm != Algorithm::kBluestein) variance = SummedVariance(points);
  return std::sqrt(std::max(1.0, variance / std::log2(points)));
}

// Rader's algorithm, for the primes that are convolutions, sums a line's points one after the other for its first
// output. Where that is far above the others, as of data around 1, its terms are of one direction and p of them lose
// 0.425 u |y| sqrt(p / 3) (golden/sigma.md); a convolution's variance is that of outputs which are alike. So it is
// added where |y|^2 is more than four times the mean, which one output in 50 of random data is.
void AddOrderedSums(const FftArgs& fft, const Golden& golden, const Contract& contract, bool complex,
                    BoundModel& bound) {
  const Plane* norm = golden.Extra("norm2");
  double terms = 0;
  for (const int64_t n : fft.n) {
    for (const int64_t p : PrimeFactors(n)) terms += p > kLargestButterfly ? static_cast<double>(p) : 0;
  }
  const bool convolves = contract.alg == Algorithm::kFft || contract.alg == Algorithm::kBluestein;
  if (!convolves || terms == 0 || norm == nullptr) return;
  const double of_sum = kRoundingDeviation * contract.AccUnitRoundoff() * std::sqrt(terms / 3);
  const int64_t parts = complex ? 2 : 1, values = golden.size();
  const auto deviation = std::make_shared<Plane>(values, golden.magnitude.wide());
  for (int64_t i = 0; i < values; ++i) {
    const auto first = static_cast<size_t>(i / parts * parts);
    const double y = complex ? std::hypot(golden.value[first], golden.value[first + 1]) : golden.value[first];
    const double all = PlaneAt(*norm, i, values);
    const double excess = y * y - 4 * all * all / static_cast<double>(fft.Points());
    if (excess > 0 && std::isfinite(excess)) deviation->SetUp(i, of_sum * std::sqrt(excess));
  }
  bound.statistic.deviations.push_back({deviation.get(), 1});
  bound.owned.push_back(deviation);
}

// An error made anywhere reaches every output: shared.
StatisticModel FftStatistic(const FftArgs& fft, const Contract& contract) {
  StatisticModel statistic;
  statistic.applicable = HasFftStatistic(contract);
  statistic.shared = true;
  statistic.last_terms = true;                     // an output's butterflies are of disjoint parts of the input
  statistic.independent_rows = fft.n.size() == 1;  // each row is a transform of data of its own
  statistic.sigma_scale = SigmaScale(fft, contract.alg);
  statistic.sigma_scale *= FftTwiddleScale(contract);
  return statistic;
}

// One point is its own transform: every factor is 1, and the sum has one term. A convolution would round.
bool IsCopy(const FftArgs& fft, const Contract& contract) {
  return fft.Points() == 1 && (contract.alg == Algorithm::kFft || contract.alg == Algorithm::kDirect) &&
         contract.in == InputRounding::kExact && contract.mid == Intermediate::kNone &&
         contract.acc != Accumulator::kTensorCore && contract.ftz == Flush::kNone;
}

}  // namespace

bool IsFftConvolution(const FftArgs& fft, Algorithm algorithm) {
  return algorithm == Algorithm::kBluestein || (algorithm != Algorithm::kDirect && HasLargeFactor(fft));
}

bool HasFftStatistic(const Contract& contract) {
  return contract.in == InputRounding::kExact && contract.mid == Intermediate::kNone &&
         contract.acc != Accumulator::kTensorCore && contract.RoundsToNearest() && contract.alg != Algorithm::kAny &&
         contract.alg != Algorithm::kWinograd;
}

// Twiddles off by up to m ulp = 2 m u, evenly spread, have a deviation of 2 m u / sqrt(3) where the roundings of a
// stage have 0.6 u; correctly rounded ones are in those 0.6 u.
double FftTwiddleScale(const Contract& contract) {
  return contract.math_ulp > 0.6 ? std::hypot(1.0, 2 / std::sqrt(3.0) * contract.math_ulp / 0.6) : 1;
}

FftErrorCoefficients FftErrors(const FftArgs& fft, const Contract& contract) {
  const FftArithmetic arithmetic = ArithmeticOf(contract);
  const auto of = [&](Algorithm algorithm) { return RelativeError(fft, algorithm, arithmetic) * (1 + 0x1p-40); };
  switch (contract.alg) {
    case Algorithm::kDirect:
      return {.norm1 = of(Algorithm::kDirect)};
    case Algorithm::kAny:
    case Algorithm::kWinograd:
      // The algorithm is unknown: the sum of all bounds holds for each.
      return {.norm2 = of(Algorithm::kFft) + of(Algorithm::kBluestein), .norm1 = of(Algorithm::kDirect)};
    default:
      return {.norm2 = of(contract.alg)};
  }
}

BoundModel FftBound(const FftArgs& fft, const Golden& golden, const Contract& contract, DType out) {
  BoundModel bound = OutputBound(contract, out);
  if (IsCopy(fft, contract)) return bound;
  const FftArithmetic arithmetic = ArithmeticOf(contract);
  const bool convolution = IsFftConvolution(fft, contract.alg);
  bound.statistic = FftStatistic(fft, contract);
  if (bound.statistic.independent_rows) bound.statistic.sharing = golden.size() / fft.batch;
  bound.growth = Growth(fft, convolution);
  bound.partial_overflow_at = contract.AccMaxFinite();
  if (contract.mid == Intermediate::kF16) bound.partial_overflow_at = FormatOf(DType::kF16).max_finite;
  const auto points = static_cast<double>(fft.Points());
  if (fft.norm != FftNorm::kNone) {  // the plane is scaled, the partial sums need not be
    const bool scaled = fft.norm == FftNorm::kOrtho || fft.inverse;
    bound.growth *= !scaled ? 1 : fft.norm == FftNorm::kOrtho ? std::sqrt(points) : points;
  }

  const auto [norm2, norm1] = FftErrors(fft, contract);
  if (norm2 > 0) bound.terms.push_back({golden.Extra("norm2"), norm2});
  if (norm1 > 0) bound.terms.push_back({&golden.magnitude, norm1});
  if (const Plane* mass = golden.Extra("subnormal_mass"); mass != nullptr) {
    // A rounding to fewer bits has no relative bound below the normal range, but changes a number by at most itself.
    const double lost = contract.FlushesInputs() ? 1 : 0;
    if (lost > 0 || arithmetic.operand > 0)
      bound.terms.push_back({mass, std::max(lost, arithmetic.operand > 0 ? 3 : lost)});
    if (lost > 0) bound.statistic.systematic.push_back({mass, lost});
  }
  const double lambda = contract.ftz != Flush::kNone ? contract.AccMinNormal() : contract.AccMinSubnormal() / 2;
  bound.constant = bound.statistic.constant = Underflows(fft, convolution) * lambda;
  AddOrderedSums(fft, golden, contract, IsComplex(out), bound);
  return bound;
}

}  // namespace assay
