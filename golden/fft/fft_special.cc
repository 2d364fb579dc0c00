// SPDX-License-Identifier: Apache-2.0
// Propagates NaN and infinities of the input through a transform. An output that depends on one of them with a nonzero
// weight cannot be finite, whatever the algorithm: additions and multiplications never lose a NaN, and turn an infinity
// into an infinity or a NaN. Which of the two, and the infinity's sign, depends on the algorithm. Where the weight is
// zero (the imaginary part of the DC term of a real signal), an algorithm may multiply by that zero, or may not:
// nothing is claimed. The planes express this as NaN, as an infinite value with an infinite magnitude, or as an
// infinite error.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "golden/fft/fft.h"
#include "harness/core/data/infinity.h"

namespace assay {
namespace {

struct Culprit {
  std::vector<int64_t> index;  // coordinates
  double re = 0, im = 0;       // of the input element
};

std::vector<int64_t> Coordinates(const Shape& axes, int64_t flat) {
  std::vector<int64_t> index(axes.size());
  for (size_t axis = axes.size(); axis-- > 0; flat /= axes[axis]) index[axis] = flat % axes[axis];
  return index;
}

enum Effect { kNothing, kNotFinite, kNan };

Effect EffectOf(double x, bool weight) {
  if (!weight || std::isfinite(x)) return kNothing;
  return std::isnan(x) ? kNan : kNotFinite;
}

class Contamination {
 public:
  Contamination(const FftArgs& fft, std::span<const double> x) : fft_(fft) {
    for (const int64_t n : fft.n) common_ = std::lcm(common_, n);
    const int parts = fft.InputParts();
    const Shape axes = fft.InputAxes();
    for (int64_t i = 0; i < static_cast<int64_t>(x.size()) / parts; ++i) {
      const double re = x[i * parts], im = parts == 2 ? x[i * parts + 1] : 0;
      if (!std::isfinite(re) || !std::isfinite(im)) culprits_.push_back({Coordinates(axes, i), re, im});
    }
    // NaN decides; most outputs are settled by the first one or two.
    std::ranges::stable_partition(culprits_, [](const Culprit& c) { return std::isnan(c.re) || std::isnan(c.im); });
  }

  // The strongest effect on either part of output k.
  void Find(const std::vector<int64_t>& k, Effect& re, Effect& im) const {
    re = im = kNothing;
    for (const Culprit& c : culprits_) {
      int64_t phase = 0;
      for (size_t axis = 0; axis < k.size(); ++axis) {
        phase = (phase + c.index[axis] * k[axis] % fft_.n[axis] * (common_ / fft_.n[axis])) % common_;
      }
      const bool has_sine = 2 * phase % common_ != 0;
      const bool has_cosine = 4 * phase % common_ != 0 || !has_sine;
      re = std::max({re, EffectOf(c.re, has_cosine), EffectOf(c.im, has_sine)});
      im = std::max({im, EffectOf(c.re, has_sine), EffectOf(c.im, has_cosine)});
      if (re == kNan && im == kNan) return;
    }
  }

 private:
  const FftArgs& fft_;
  int64_t common_ = 1;
  std::vector<Culprit> culprits_;
};

void Mark(Golden& golden, int64_t i, Effect effect) {
  if (!golden.value_lo.empty()) golden.value_lo[i] = 0;
  golden.sigma.Set(i, 0);
  switch (effect) {
    case kNan:
      golden.value[i] = std::numeric_limits<double>::quiet_NaN();
      break;
    case kNotFinite:
      golden.value[i] = kInfinity;
      golden.magnitude.Set(i, kInfinity);
      break;
    case kNothing:
      golden.error.Set(i, kInfinity);
      break;
  }
}

}  // namespace

void MarkNonFinite(const FftArgs& fft, std::span<const double> x, int64_t batch, Golden& golden) {
  const Contamination contamination(fft, x);
  const Shape axes = fft.OutputAxes();
  const int64_t outputs = NumElements(axes);
  for (int64_t i = 0; i < outputs; ++i) {
    Effect re = kNothing, im = kNothing;
    contamination.Find(Coordinates(axes, i), re, im);
    const int64_t at = (batch * outputs + i) * fft.OutputParts();
    Mark(golden, at, re);
    if (fft.OutputParts() == 2) Mark(golden, at + 1, im);
  }
}

}  // namespace assay
