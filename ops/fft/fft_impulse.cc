// SPDX-License-Identifier: Apache-2.0
// Twins of fft that show what twiddles are worth: in each transform one input is 1 and all others are 0. The bound of
// other data follows from the norm of the whole result and is many times what coarse twiddles change. With an impulse
// nothing cancels: output k is one root of unity, which fast algorithms put together from few twiddles, so that each
// output has an error of its own (ImpulseError), and all of them have the deviation that their layers of twiddles give
// (fft_impulse_spread.cc).
// Real transforms may be packed into complex ones of half the length, whose outputs k and m - k are off by e each and
// go into the result as (1 + w) / 2 and (1 - w) / 2 of it, which is sqrt(2) e at most; a half spectrum's impulse is one
// of two frequencies, whose errors relate to the sum of both. Convolutions (Bluestein, Rader) spread the errors of a
// padded transform over all outputs: each has the bound of any data, and the deviation of all shows coarse chirps.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

#include "golden/fft/fft_error.h"
#include "ops/binding.h"
#include "ops/fft/fft.h"

namespace assay {
namespace {

constexpr int64_t kFewestImpulsePoints = 5;       // up to 4 points all twiddles are 1, i, -1 and -i
constexpr int64_t kMostImpulseNumbers = 1 << 17;  // of a batch: longer ones cost more than they show
constexpr int kEnoughImpulses = 8, kMostImpulseVariants = 4;
constexpr double kCoarsest = 0x1p-4;  // an error beyond that shows nothing
// How far the mean of squares may be above the expected one: 3.5 times for roundings that all outputs share and for
// products by three multiplications instead of four, which have 2.6 to 3 of it, and standard deviations of the mean.
constexpr double kMeanSquareExcess = 3.5, kMeanSquareLimit = 6;

bool IsImpulseConvolution(const FftArgs& fft, const Contract& contract) {
  return IsFftConvolution(fft, contract.alg) && FftImpulseDeviation(fft, contract) > 0;
}

// |dy_k| over the sum of |x|; 0: an output has no bound of its own.
double RelativeImpulseError(const FftArgs& fft, const Contract& contract) {
  const bool is_direct = contract.alg == Algorithm::kDirect;
  if ((!is_direct && contract.alg != Algorithm::kFft) || contract.acc == Accumulator::kTensorCore) return 0;
  const FftArithmetic arithmetic = ArithmeticOf(contract);
  double sum = 0;
  for (const int64_t n : fft.n) {
    if (!is_direct && n > 1 && PrimeFactors(n).back() > kLargestButterfly) return 0;
    if (n > 1) sum += std::log1p(is_direct ? DirectImpulseError(arithmetic) : ImpulseError(n, arithmetic));
  }
  double error = std::expm1(sum);
  if (fft.kind != FftKind::kC2C) error = (1 + std::numbers::sqrt2 * error) * (1 + PackingError(arithmetic)) - 1;
  if (fft.norm != FftNorm::kNone) error = (1 + error) * (1 + 4 * arithmetic.u) - 1;
  return error < kCoarsest ? error : 0;
}

// Place i of many along an axis: 1 and the last ones, whose turns are the largest, then all of them in an order that
// is spread over the axis.
int64_t PlaceAlong(int64_t extent, int64_t i) {
  const int64_t first[] = {1 % extent, extent - 1, std::max<int64_t>(extent / 2 - 1, 0)};
  if (i < std::ssize(first)) return first[i];
  int64_t step = std::max<int64_t>(static_cast<int64_t>(static_cast<double>(extent) * 0.618), 1);
  while (std::gcd(step, extent) != 1) ++step;
  return (i - std::ssize(first) + 1) * step % extent;
}

// The flat place of the impulse among the elements of one transform.
int64_t PlaceOf(const FftArgs& fft, int64_t i) {
  const Shape axes = fft.InputAxes();
  const int64_t column = PlaceAlong(axes.back(), i), last = fft.n.back();
  // Elsewhere in these columns half a spectrum holds an impulse and its mirror image.
  const bool is_own_mirror = fft.kind == FftKind::kC2R && (column == 0 || 2 * column == last);
  int64_t place = 0;
  for (size_t axis = 0; axis + 1 < axes.size(); ++axis) {
    place = place * axes[axis] + (is_own_mirror ? 0 : PlaceAlong(axes[axis], i));
  }
  return place * axes.back() + column;
}

// In how many of the layers that turn a place on average this one is turned, for one axis. Decimated in time, powers of
// two turn it once for each bit: all layers for the last place. Of other lengths the order of factors is not known.
double TurnsOf(int64_t n, int64_t place, bool mirrors) {
  if (n < 2) return 1;
  if (!std::has_single_bit(static_cast<uint64_t>(n))) return 1.25;
  const auto bits = [](int64_t at) { return std::popcount(static_cast<uint64_t>(at)); };
  const int most = std::max(bits(place), mirrors ? bits((n - place) % n) : 0);
  return std::max(1.0, 2.0 * most / std::log2(static_cast<double>(n)));
}

// Mean over the rows of a variant's batch; several axes have the largest.
double TurnsOfRows(const FftArgs& fft, int variant) {
  const Shape axes = fft.InputAxes();
  double sum = 0;
  for (int64_t b = 0; b < fft.batch; ++b) {
    double most = 1;
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      const int64_t place = PlaceAlong(axes[axis], variant * fft.batch + b);
      most = std::max(most, TurnsOf(fft.n[axis], place, fft.kind == FftKind::kC2R));
    }
    sum += most;
  }
  return sum / static_cast<double>(fft.batch);
}

std::vector<Tensor> ImpulseInputs(const FftArgs& fft, const Operand& operand, int variant) {
  const int64_t elements = NumElements(fft.InputAxes()), parts = fft.InputParts();
  std::vector<double> x(static_cast<size_t>(fft.batch * elements * parts));
  for (int64_t b = 0; b < fft.batch; ++b) {
    const int64_t at = b * elements + PlaceOf(fft, variant * fft.batch + b);
    x[static_cast<size_t>(at * parts)] = 1;
  }
  std::vector<Tensor> inputs;
  inputs.emplace_back(operand.dtype, operand.shape);
  inputs[0].SetDoubles(x);
  return inputs;
}

}  // namespace

int FftImpulseVariants(const FftArgs& fft, const Contract& contract) {
  const int64_t points = fft.Points();
  if (points < kFewestImpulsePoints || points * fft.batch > kMostImpulseNumbers) return 0;
  if (RelativeImpulseError(fft, contract) == 0 && !IsImpulseConvolution(fft, contract)) return 0;
  return static_cast<int>(std::clamp<int64_t>(kEnoughImpulses / fft.batch, 1, kMostImpulseVariants));
}

Twin FftImpulseTwin(const Operator& op, const Problem& problem, const Contract& contract, int variant) {
  const FftArgs fft = FftArgsOf(problem);
  const FloatFormat& format = FormatOf(problem.outputs[0].dtype);
  const double error = RelativeImpulseError(fft, contract), deviation = FftImpulseDeviation(fft, contract);
  // In the accumulator's own format the output is one of the roundings that the deviation has. A golden value is a
  // double.
  const bool adds_rounding = contract.AccUnitRoundoff() < format.UnitRoundoff() || format.UnitRoundoff() <= 0x1p-53;
  Twin twin;
  twin.inputs = ImpulseInputs(fft, problem.inputs[0], variant);
  const Golden golden = op.ComputeGolden(problem, 0, twin.inputs, Tier::kFast);
  const BoundModel bound = op.Bound(problem, 0, golden, contract);
  twin.expected = golden.value;
  twin.costly = true;
  twin.sparse = true;
  double squares = 0;
  for (int64_t i = 0; i < golden.size(); ++i) {
    double& y = twin.expected[static_cast<size_t>(i)];
    const double modulus = golden.magnitude[i], ulp = UlpAt(format, y);
    // The output's own rounding, and what a double does not keep of the golden value.
    const double rounding = contract.RoundsToNearest() ? ulp / 2 : ulp;
    const double own = error * modulus + rounding + golden.error[i] + bound.constant;
    const double tolerance = error > 0 ? own : bound.LargestToleranceAt(golden, i);
    // An ulp of a value near zero is too small a unit for the tolerance.
    const double least = tolerance * 0x1p-20;
    if (std::abs(y) < least) y = least;
    twin.tolerances.push_back((tolerance + least) / UlpAt(format, y));
    const double rounded = adds_rounding ? rounding * rounding / 3 : 0;
    const double variance = deviation * deviation * modulus * modulus / 2 + rounded;
    squares += variance / ((tolerance + least) * (tolerance + least));
  }
  twin.tolerance_ulp = *std::ranges::max_element(twin.tolerances);
  const auto rows = static_cast<double>(std::min(fft.batch, NumElements(fft.InputAxes())));
  const double freedom = rows * std::log2(static_cast<double>(fft.Points()));
  const double turns = contract.alg == Algorithm::kFft ? TurnsOfRows(fft, variant) : 1;
  const double largest = turns * (kMeanSquareExcess + kMeanSquareLimit * std::sqrt(2 / freedom));
  if (deviation > 0) twin.rms = std::sqrt(largest * squares / static_cast<double>(golden.size()));
  twin.code = error > 0 ? "one input is 1, so that every output is a product of twiddles"
                        : "one input is 1, so that all outputs have errors alike";
  return twin;
}

}  // namespace assay
