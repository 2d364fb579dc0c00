// SPDX-License-Identifier: Apache-2.0
// The twin of fft. Rounded twiddles make no output exact, so it has a tolerance, the operator's own bound. Its inputs
// are as large as each other, |re| = |im| = 1 with signs that look random, so that none hides behind a larger one, an
// infinity or NaN as in the case's own data: a lost one moves every output of its transform by about 1, and the bound
// of n such inputs is c n, c some 10^-6 in f32. For longer transforms it is cut into parts: K inputs that are not zero
// leave c sqrt(n K), and each variant has its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/data/fill/rng.h"
#include "ops/binding.h"
#include "ops/exact_code.h"
#include "ops/fft/fft.h"

namespace assay {
namespace {

enum FftStream : uint64_t { kSigns = 48 };
constexpr int kMostFftParts = 16;  // each is one more execution
// The larger part of what a lost input changes, at the least telling angle, of a real input.
constexpr double kLeastEffect = 0.7;

// Twice the bound, for a faulty result errs as well, against the effect; both in units of the scale.
bool Separates(const FftArgs& fft, const Contract& contract, int parts) {
  const auto [norm2, norm1] = FftErrors(fft, contract);
  const auto points = static_cast<double>(fft.Points());
  // Each element of half a spectrum may stand for two.
  const double given = std::ceil(static_cast<double>(NumElements(fft.InputAxes())) / parts);
  const double shown = std::min(points, fft.kind == FftKind::kC2R ? 2 * given : given);
  const double squares = fft.kind == FftKind::kR2C ? shown : 2 * shown;
  const double error = norm2 * std::sqrt(points * squares) + norm1 * std::sqrt(squares * shown);
  const double rounding = contract.AccUnitRoundoff() * 4 * std::sqrt(squares * std::log(2 * points + 2));
  return 2 * (error + rounding) < kLeastEffect;
}

int PartsOf(const FftArgs& fft, const Contract& contract) {
  for (int parts = 1; parts <= kMostFftParts; parts *= 2) {
    if (Separates(fft, contract, parts)) return parts;
  }
  return 0;
}

Tensor TwinSignal(const FftArgs& fft, const Operand& operand, int parts, int variant) {
  const int64_t elements = NumElements(fft.InputAxes());
  const int components = fft.InputParts();
  std::vector<double> x(static_cast<size_t>(fft.batch * elements * components));
  for (int64_t b = 0; b < fft.batch; ++b) {
    for (int64_t j = elements * variant / parts; j < elements * (variant + 1) / parts; ++j) {
      const int64_t at = (b * elements + j) * components;
      for (int64_t i = at; i < at + components; ++i) x[i] = 2 * static_cast<double>(TwinFactor(kSigns, i, 2)) - 3;
    }
  }
  if (fft.kind == FftKind::kC2R) MakeHermitian(fft, x);
  Tensor tensor(operand.dtype, operand.shape);
  tensor.SetDoubles(x);
  return tensor;
}

}  // namespace

int FftTwinVariants(const Problem& problem, const Contract& contract) {
  const FftArgs fft = FftArgsOf(problem);
  const int parts = PartsOf(fft, contract);
  // Impulses are never alone: the first twin is the second input set of timed loops, which shows every input.
  return parts == 0 ? 0 : parts + FftImpulseVariants(fft, contract);
}

std::optional<Twin> FftTwin(const Operator& op, const Problem& problem, const Contract& contract, int variant) {
  const FftArgs fft = FftArgsOf(problem);
  const int parts = PartsOf(fft, contract);
  if (parts == 0) return std::nullopt;
  if (variant >= parts) return FftImpulseTwin(op, problem, contract, variant - parts);
  Twin twin;
  twin.inputs.push_back(TwinSignal(fft, problem.inputs[0], parts, variant));
  const FloatFormat& format = FormatOf(problem.outputs[0].dtype);
  const Golden golden = op.ComputeGolden(problem, 0, twin.inputs, Tier::kFast);
  const BoundModel bound = op.Bound(problem, 0, golden, contract);
  twin.expected = golden.value;
  twin.costly = true;
  for (int64_t i = 0; i < golden.size(); ++i) {
    double& y = twin.expected[static_cast<size_t>(i)];
    // Near zero an ulp would be too small a unit for the tolerance.
    const double tolerance = bound.LargestToleranceAt(golden, i), least = tolerance * 0x1p-20;
    if (std::abs(y) < least) y = least;
    twin.tolerances.push_back((tolerance + least) / UlpAt(format, y));
  }
  twin.tolerance_ulp = *std::ranges::max_element(twin.tolerances);
  twin.code = "a lost x_j moves every output of its transform by |x_j|";
  if (parts > 1) twin.code += fmt::format("; inputs of part {} of {}", variant, parts);
  return twin;
}

}  // namespace assay
