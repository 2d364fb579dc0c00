// SPDX-License-Identifier: Apache-2.0
// Relations of fft: transforms alone or elsewhere, -x and 2^k x, an impulse, data rolled around (the outputs turn), the
// way back, and Parseval's identity. The last four hold within what the bound permits.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/fft/fft.h"
#include "ops/relations.h"

namespace assay {
namespace {

// Covers the double arithmetic of expectations, and planes that are rounded to f32.
constexpr double kSlack = 1 + 0x1p-20;

// LargestToleranceAt of both parts of a complex output element.
double Tolerance(const ExecutedSet& executed, int64_t element) {
  return executed.bound.LargestToleranceAt(executed.golden, 2 * element) +
         executed.bound.LargestToleranceAt(executed.golden, 2 * element + 1);
}

bool Applies(const ExecutedSet& executed) {
  return AllFinite(executed.inputs[0]) && AllFinite(executed.output);
}

double ScaleOf(const FftArgs& fft) {
  const auto points = static_cast<double>(fft.Points());
  if (fft.norm == FftNorm::kOrtho) return 1 / std::sqrt(points);
  return fft.norm == FftNorm::kBackward && fft.inverse ? 1 / points : 1;
}

std::optional<OtherExecution> Impulse(const ExecutedSet& executed) {
  const FftArgs fft = FftArgsOf(executed.problem);
  const int64_t points = NumElements(fft.InputAxes());
  const int64_t at = fft.kind == FftKind::kC2R ? 0 : points / 3;  // elsewhere half a spectrum needs its mirror image
  std::vector<double> x(static_cast<size_t>(fft.batch * points * fft.InputParts()));
  for (int64_t b = 0; b < fft.batch; ++b) x[(b * points + at) * fft.InputParts()] = 1;
  std::vector<Tensor> inputs = Clones(executed.inputs);
  inputs[0].SetDoubles(x);
  return JudgedByBound(executed, executed.problem, std::move(inputs));
}

// x rolled by s along the last axis, to x_{j+s}: y_k turns by 2 pi s k / n.
std::optional<OtherExecution> Rolled(const ExecutedSet& executed) {
  if (!Applies(executed)) return std::nullopt;
  const FftArgs fft = FftArgsOf(executed.problem);
  const int64_t n = fft.n.back(), s = n / 3 + 1, width = fft.OutputAxes().back();
  std::vector<int64_t> indices;
  for (int64_t j = 0; j < n; ++j) indices.push_back((j + s) % n);
  OtherExecution other;
  other.inputs.push_back(TakeAlong(executed.inputs[0], std::ssize(fft.n), indices));
  const std::vector<double> y = executed.output.ToDoubles();
  for (int64_t i = 0; i < executed.output.size(); ++i) {
    const auto turns = static_cast<double>(i % width * s % n) / static_cast<double>(n);
    const double angle = (fft.inverse ? -2 : 2) * std::numbers::pi * turns;
    const double re = y[2 * i], im = y[2 * i + 1], c = std::cos(angle), d = std::sin(angle);
    other.expected.insert(other.expected.end(), {re * c - im * d, re * d + im * c});
    // Both executions may have the error. One of them is turned, which mixes its real and imaginary parts.
    const double tolerance = 2 * kSlack * Tolerance(executed, i) + 0x1p-49 * (std::abs(re) + std::abs(im));
    other.tolerance.insert(other.tolerance.end(), {tolerance, tolerance});
  }
  return other;
}

// The inverse transform: the opposite sign and, between reals and half spectra, the opposite kind. For several axes
// only c2c: a half spectrum with errors is not that of a real signal, and algorithms treat the mirrored halves of one
// plane differently.
std::optional<Problem> BackOf(const Operator& op, const Problem& problem, const FftArgs& fft) {
  AttrList changes = {{"dir", fft.inverse ? "fwd" : "inv"}};
  if (fft.kind == FftKind::kC2C) return Rebind(op, problem, changes);
  if (fft.n.size() > 1) return std::nullopt;
  changes.emplace_back("kind", fft.kind == FftKind::kR2C ? "c2r" : "r2c");
  Problem swapped = problem;
  std::ranges::reverse(swapped.spec.dtypes);
  return Rebind(op, swapped, changes);
}

// A half spectrum whose terms that mirror themselves are real: what they are in truth, so no farther from it.
Tensor HalfSpectrum(const FftArgs& fft, const Tensor& output) {
  std::vector<double> y = output.ToDoubles();
  const int64_t n = fft.n.back(), width = n / 2 + 1;
  for (int64_t b = 0; b < fft.batch; ++b) {
    y[2 * b * width + 1] = 0;
    if (n % 2 == 0) y[2 * (b * width + n / 2) + 1] = 0;
  }
  Tensor half(output.dtype(), output.shape());
  half.SetDoubles(y);
  return half;
}

// The output transformed back. Its error e comes back as at most scale * sum |e|, half spectra as their wholes.
std::optional<OtherExecution> Back(const ExecutedSet& executed, const Problem& back) {
  if (!Applies(executed)) return std::nullopt;
  const FftArgs fft = FftArgsOf(executed.problem);
  std::vector<Tensor> inputs;
  const bool half = fft.kind == FftKind::kR2C;
  inputs.push_back(half ? HalfSpectrum(fft, executed.output) : executed.output.Clone());
  OtherExecution other = JudgedByBound(executed, back, std::move(inputs));
  other.expected = executed.inputs[0].ToDoubles();
  const double factor = fft.norm == FftNorm::kNone ? static_cast<double>(fft.Points()) : 1;
  for (double& x : other.expected) x *= factor;
  const int64_t values = executed.golden.size() / fft.batch, restored = std::ssize(other.expected) / fft.batch;
  for (int64_t b = 0; b < fft.batch; ++b) {
    double sum = 0;  // |e| <= |re e| + |im e|
    for (int64_t i = b * values; i < (b + 1) * values; ++i)
      sum += executed.bound.LargestToleranceAt(executed.golden, i);
    if (half) sum *= 2;
    for (int64_t i = b * restored; i < (b + 1) * restored; ++i) {
      other.tolerance[i] += kSlack * ScaleOf(FftArgsOf(back)) * sum;
    }
  }
  return other;
}

// ||y|| = scale sqrt(N) ||x||, off by at most the norm of y's error.
std::optional<OtherExecution> Parseval(const ExecutedSet& executed) {
  if (!Applies(executed)) return std::nullopt;
  const FftArgs fft = FftArgsOf(executed.problem);
  const int64_t points = fft.Points();
  const std::vector<double> x = executed.inputs[0].ToDoubles(), y = executed.output.ToDoubles();
  const double gain = ScaleOf(fft) * std::sqrt(static_cast<double>(points));
  OtherExecution other;
  for (int64_t b = 0; b < fft.batch; ++b) {
    double of_x = 0, of_y = 0, of_error = 0;
    for (int64_t i = 2 * b * points; i < 2 * (b + 1) * points; ++i) of_x += x[i] * x[i], of_y += y[i] * y[i];
    for (int64_t i = b * points; i < (b + 1) * points; ++i) of_error += std::pow(Tolerance(executed, i), 2);
    other.expected.push_back(gain * std::sqrt(of_x));
    other.values.push_back(std::sqrt(of_y));
    const double rounding = static_cast<double>(points) * 0x1p-51 * other.expected.back();  // of the sums in double
    other.tolerance.push_back(kSlack * std::sqrt(of_error) + rounding);
  }
  return other;
}

}  // namespace

std::vector<SliceAxes> FftSlices(const Problem& problem) {
  return Several({{.inputs = {0}, .output = 0, .extent = FftArgsOf(problem).batch}});
}

std::vector<Relation> FftRelations(const Operator& op, const Problem& problem) {
  const FftArgs fft = FftArgsOf(problem);
  const SliceAxes axes{.inputs = {0}, .output = 0, .extent = fft.batch};
  std::vector<Relation> all;
  if (fft.batch > 1) all.push_back(Reversed("position", Claim::kBatchInvariant, axes));
  all.push_back(Negated({0}));
  if (fft.kind == FftKind::kC2C) all.push_back({.name = "parseval", .claim = Claim::kBound, .make = Parseval});
  if (fft.kind != FftKind::kC2R) all.push_back({.name = "roll", .claim = Claim::kBound, .make = Rolled});
  all.push_back({.name = "impulse", .claim = Claim::kBound, .needs_golden = true, .make = Impulse});
  if (const std::optional<Problem> back = BackOf(op, problem, fft)) {
    all.push_back({.name = "inverse",
                   .claim = Claim::kBound,
                   .problem = back,
                   .needs_golden = true,
                   .make = [back = *back](const ExecutedSet& executed) { return Back(executed, back); }});
  }
  // Twiddles near zero may make products that underflow, whatever the data.
  all.push_back(Scaled(Claim::kNone, {.scaled = {0}, .factors = {0}, .terms = 4 * static_cast<double>(fft.Points())}));
  Append(all, Prefixes(op, problem, "batch", axes, [](int64_t count) {
           return AttrList{{"batch", std::to_string(count)}};
         }));
  return all;
}

}  // namespace assay
