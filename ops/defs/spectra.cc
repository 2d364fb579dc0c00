// SPDX-License-Identifier: Apache-2.0
// Operators that kernels compute by fast Fourier transforms: spectra of frames, and long convolutions. Their formulas
// are the sums themselves. With alg=fft an error may be as large as roundings of numbers as large as all terms of a
// transform: the bounds are those of transforms by levels (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
// edition, theorem 24.2, of componentwise terms too).
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

constexpr int64_t kMostPairs = 60'000'000;  // of places, each of which a formula keeps

// The value, and room for as many units of roundoff of the sum of `sizes`: that is added, which rounds, and taken off
// again. The error of the sum itself is that of one number, so that it cancels.
Expr WithRoom(Expr value, double roundings, Expr sizes, const Axis& along) {
  const Expr room = Sum(roundings * std::move(sizes), along);
  return Strict(Strict(std::move(value) + room) - room);
}

// Roundings of a term on its way through butterflies of each prime factor: additions, and products with two roots.
double CountRoundings(int64_t n) {
  double roundings = 0;
  for (int64_t factor = 2; n > 1; n % factor == 0 ? n /= factor : ++factor) {
    if (n % factor == 0) roundings += static_cast<double>(factor) + 7;
  }
  return roundings;
}

void Stft(Definition& d) {
  d.SetDoc("y[i,k] = the sum over j of x[i hop + j] window[j] e^(-2 pi sqrt(-1) j k / n), its real and imaginary part");
  const Axis b = d.Axis("b", "signals"), l = d.Axis("l", "samples of a signal", 1);
  const Axis n = d.Axis("n", "samples of a frame", 1);
  const int64_t hop = d.Integer("hop", "1", "samples from one frame to the next", {"1", "3"});
  if (d.RefuseIf(hop < 1, "hop must be at least 1")) return;
  if (d.RefuseIf(n.extent > l.extent, "n must not be more than l: a signal has no frame then")) return;
  const Axis frames = d.FixedAxis("(l-n)/hop+1", (l.extent - n.extent) / hop + 1);
  if (d.RefuseIf(frames.extent > kMostPairs / n.extent, "n times the number of frames must be at most 60 million"))
    return;
  const Axis bins = d.FixedAxis("n/2+1", n.extent / 2 + 1), parts = d.FixedAxis("2", 2);
  const Expr x = d.In("x", b + l), window = d.In("window", n, Role::kWeight);
  Graph& graph = *x.graph;
  std::vector<int64_t> places;
  for (int64_t frame = 0; frame < frames.extent; ++frame) {
    for (int64_t j = 0; j < n.extent; ++j) places.push_back(frame * hop + j);
  }
  const Expr terms = Take(x, l, frames + n, std::move(places)) * window;
  const Expr turns = Index(graph, n) * Index(graph, bins), all = Const(graph, static_cast<double>(n.extent));
  const long double turn = 2 * std::numbers::pi_v<long double> / static_cast<long double>(n.extent);
  const auto step = static_cast<double>(turn);
  const Expr angle =
      Strict(turns - all * FloorDivide(turns, all)) * Const(graph, step, static_cast<double>(turn - step));
  const Expr is_real = Equal(Index(graph, parts), Const(graph, 0));
  const Expr spectrum = Sum(terms * Select(is_real, Cos(angle), -Sin(angle)), n);
  const Axes axes = b + frames + bins + parts;
  d.Schedule(Algorithm::kDirect, [&] { d.Out("y", spectrum, axes); });
  d.Schedule(Algorithm::kFft, [&] { d.Out("y", WithRoom(spectrum, CountRoundings(n.extent), Abs(terms), n), axes); });
}

void FftConv(Definition& d) {
  d.SetDoc("y[t] = the sum over j of kernel[j] x[t - j], from j = 0 to t: a causal convolution as long as its signal");
  const Axis b = d.Axis("b", "batches"), c = d.Axis("c", "channels"), l = d.Axis("l", "positions", 1);
  if (d.RefuseIf(l.extent > kMostPairs / l.extent, "l must be at most 7745, as the formula has each pair of positions"))
    return;
  const Axis back = d.FixedAxis("l*1", l.extent);
  const Expr x = d.In("x", b + c + l), kernel = d.In("kernel", c + l);
  std::vector<int64_t> places;
  for (int64_t t = 0; t < l.extent; ++t) {
    for (int64_t j = 0; j < l.extent; ++j) places.push_back(j <= t ? t - j : -1);
  }
  const Axis to = d.FixedAxis("1*l", l.extent);
  const Expr of_kernel = At(kernel, l, back, [](int64_t j) { return j; });
  const Expr is_reached = LessEqual(Index(*x.graph, back), Index(*x.graph, to));  // else NaN would be, times 0
  const Expr terms = Take(x, l, to + back, std::move(places)) * of_kernel;
  const Expr sum = Sum(Select(is_reached, terms, Const(*x.graph, 0)), back);
  d.Schedule(Algorithm::kDirect, [&] { d.Out("y", sum, b + c + to); });
  d.Schedule(Algorithm::kFft, [&] {
    // Three transforms of up to 4 l elements, of whose norms each level leaves 7 units, and a product of spectra.
    const double levels = 7 * std::ceil(std::log2(4.0 * static_cast<double>(l.extent)));
    const auto norm = [&](Expr of) { return Sqrt(Sum(of * of, l)); };
    const Expr sizes = (2 + 4 / levels) * Abs(kernel) * norm(x) + Abs(x) * norm(kernel);
    d.Out("y", WithRoom(sum, levels, sizes, l), b + c + to);
  });
}

ASSAY_OPERATOR(fft_conv, FftConv);
ASSAY_OPERATOR(stft, Stft);

}  // namespace
}  // namespace assay
