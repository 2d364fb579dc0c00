// SPDX-License-Identifier: Apache-2.0
// Transforms: the order of results, conjugates, the last stage's twiddles, scales.
#include "tests/faults/corpus/fft_plan.h"
#include "tests/faults/corpus/later/later.h"

namespace corpus {
namespace {

using Spec = const FftSpec&;

bool IsComplexPower(Spec s) {
  return s.kind == FftKind::kC2C && ArePowersOfTwo(s) && s.n.back() >= 8;
}
bool IsComplex(Spec s) {
  return s.kind == FftKind::kC2C && AreSmooth(s) && s.n.back() >= 8;
}
bool IsWide(Spec s) {
  return s.wide && AreSmooth(s) && s.n.back() >= 8;
}

// The stages of the smallest factors, in the last of which each twiddle is what kTwiddle makes of it.
template <class T, Point<T> (*kTwiddle)(Point<T>)>
void WithLastTwiddles(const FftKernel<T>& kernel, Line<T>& x) {
  FftKernel<T> other = kernel;
  other.root = [n = std::ssize(x)](int64_t j, int64_t m) {
    const Point<T> root = UnitRoot<T>(j, m);
    return m == n ? kTwiddle(root) : root;
  };
  RadixTransform<T, SmallestFactor>(other, x);
}
template <class T>
Point<T> Conjugated(Point<T> p) {
  return p.Conjugate();
}
template <class T>
Point<T> InF32(Point<T> p) {
  return {Rounded(Nearest(kSingle), p.re), Rounded(Nearest(kSingle), p.im)};
}
template <class T>
Point<T> One(Point<T>) {
  return {T{1}, T{0}};
}

template <class T>
void InBitReversedOrder(Line<T>& x) {
  const Line<T> right = x;
  for (size_t i = 0; i < x.size(); ++i) {
    size_t from = 0;
    for (size_t bit = 1, rest = i; bit < x.size(); bit *= 2, rest /= 2) from = from * 2 + rest % 2;
    x[i] = right[from];
  }
}

template <class T>
void Kernels(FftEdits<T>& of) {
  of("fault.results-in-bit-reversed-order", IsComplexPower).finish = InBitReversedOrder<T>;
  of("fault.results-conjugated", IsComplex).finish = [](Line<T>& y) {
    for (Point<T>& p : y) p = p.Conjugate();
  };
  of("fault.last-stage-with-conjugated-twiddles", IsComplex).transform = WithLastTwiddles<T, Conjugated<T>>;
  of("fault.half-spectrum-one-bin-late", [](Spec s) {
    return s.kind == FftKind::kR2C && AreSmooth(s) && s.n.back() >= 8;
  }).half = [](Line<T>& y, int64_t) {
    for (size_t k = y.size(); k-- > 1;) y[k] = y[k - 1];
  };
  of("fault.odd-results-negated", [](Spec s) { return IsComplex(s) && s.n.back() % 2 == 0; }).finish = [](Line<T>& y) {
    for (size_t i = 1; i < y.size(); i += 2) y[i] = y[i] * T{-1};
  };
  of("fault.scale-applied-twice", [](Spec s) { return s.scaled && AreSmooth(s) && s.Points() > 2; }).scale =
      [](Spec s) { return static_cast<T>(s.scale * s.scale); };
  of("fault.last-stage-subtracts-the-other-way", IsComplexPower).finish = [](Line<T>& y) {
    for (size_t i = y.size() / 2; i < y.size(); ++i) y[i] = y[i] * T{-1};
  };
  of("fault.last-stage-without-twiddles", IsComplex).transform = WithLastTwiddles<T, One<T>>;
  of("fault.last-twiddles-in-f32", IsWide).transform = WithLastTwiddles<T, InF32<T>>;
}

template <class T>
using AroundFft = AroundPlan<FftPlan, FftKernel, T>;

template <class T>
void AroundKernels(Edits<Around<T>, FftSpec>& of) {
  using Inputs = std::vector<std::vector<T>>;
  of("fault.real-and-imaginary-parts-exchanged", IsComplex).store = [](std::vector<T>& y, Description) {
    for (size_t i = 0; i < y.size(); i += 2) std::swap(y[i], y[i + 1]);
  };
  of("fault.lines-read-in-reverse", IsComplex).load = [](Inputs& inputs, Description op) {
    const int64_t n = op.inputs()[0].shape.back();
    const std::vector<T> right = inputs[0];
    for (int64_t i = 0; i < std::ssize(right); ++i) {
      const int64_t point = i / 2, from = point / n * n + n - 1 - point % n;
      inputs[0][static_cast<size_t>(i)] = right[static_cast<size_t>(2 * from + i % 2)];
    }
  };
  of("fault.operand-conjugated", IsComplex).load = [](Inputs& inputs, Description) {
    for (size_t i = 1; i < inputs[0].size(); i += 2) inputs[0][i] = -inputs[0][i];
  };
}

}  // namespace

std::vector<Entry> FftLater() {
  return Joined({FftRows([](auto& of) { Kernels(of); }),
                 EntriesOf<AroundFft, Around>("fft", FftContract, FftWhyNot, plugin::ParseFft,
                                              [](auto& of) { AroundKernels(of); })});
}

}  // namespace corpus
