// SPDX-License-Identifier: Apache-2.0
// Transforms whose results, half spectra, scales or batches are wrong.
#include "tests/faults/corpus/held/fft_held.h"

namespace corpus {
namespace {

using Spec = const FftSpec&;

bool HasSmooth(const FftSpec& s, int64_t least) {
  return AreSmooth(s) && s.n.back() >= least;
}
constexpr auto kComplex = [](Spec s) { return HasSmooth(s, 5) && s.kind == FftKind::kC2C; };
constexpr auto kEvenComplex = [](Spec s) { return HasSmooth(s, 6) && s.kind == FftKind::kC2C && s.n.back() % 4 == 0; };
constexpr auto kReal = [](Spec s) { return HasSmooth(s, 5) && s.kind != FftKind::kC2C; };
constexpr auto kEvenReal = [](Spec s) { return HasSmooth(s, 6) && s.kind != FftKind::kC2C && s.n.back() % 2 == 0; };
constexpr auto kOddReal = [](Spec s) { return HasSmooth(s, 5) && s.kind != FftKind::kC2C && s.n.back() % 2 == 1; };
constexpr auto kFromReal = [](Spec s) { return HasSmooth(s, 5) && s.kind == FftKind::kR2C; };
constexpr auto kScaled = [](Spec s) { return HasSmooth(s, 5) && s.scaled; };
constexpr auto kScaledByRoot = [](Spec s) {
  return HasSmooth(s, 5) && s.scaled && s.scale * static_cast<double>(s.Points()) != 1;
};
constexpr auto kScaledByCount = [](Spec s) {
  return HasSmooth(s, 5) && s.scaled && s.scale * static_cast<double>(s.Points()) == 1;
};
constexpr auto kUnscaled = [](Spec s) { return HasSmooth(s, 5) && !s.scaled; };
constexpr auto kNoPowersOfTwo = [](Spec s) { return HasSmooth(s, 5) && s.scaled && !ArePowersOfTwo(s); };

double Count(const FftSpec& s) {
  return static_cast<double>(s.Points());
}

template <class T>
void ResultFaults(FftEdits<T>& of) {
  of("fault.first-result-zero", kComplex).finish = [](Line<T>& y) { y[0] = {}; };
  of("fault.first-result-doubled", kComplex).finish = [](Line<T>& y) { y[0] = y[0] * T{2}; };
  of("fault.middle-result-negated", kEvenComplex).finish = [](Line<T>& y) {
    y[y.size() / 2] = y[y.size() / 2] * T{-1};
  };
  of("fault.second-result-conjugated", kComplex).finish = [](Line<T>& y) { y[1] = y[1].Conjugate(); };
  of("fault.last-result-loses-imaginary-part", kComplex).finish = [](Line<T>& y) { y.back().im = 0; };
  of("fault.halves-of-results-swapped", kEvenComplex).finish = [](Line<T>& y) {
    std::rotate(y.begin(), y.begin() + std::ssize(y) / 2, y.end());
  };
  of("fault.quarters-of-results-swapped", kEvenComplex).finish = [](Line<T>& y) {
    const auto quarter = std::ssize(y) / 4;
    std::swap_ranges(y.begin() + quarter, y.begin() + 2 * quarter, y.begin() + 2 * quarter);
  };
  of("fault.tail-of-8-results-zero", kComplex).finish = [](Line<T>& y) {
    for (size_t i = y.size() / 8 * 8; i < y.size(); ++i) y[i] = {};
  };
  of("fault.last-two-results-swapped-in-line", kComplex).finish = [](Line<T>& y) {
    std::swap(y[y.size() - 1], y[y.size() - 2]);
  };
  of("fault.parts-of-last-result-swapped", kComplex).finish = [](Line<T>& y) { std::swap(y.back().re, y.back().im); };
  of("fault.odd-results-of-16-bits", kComplex).finish = [](Line<T>& y) {
    for (size_t i = 1; i < y.size(); i += 2) y[i].re = Rounded(NearestBits(16), y[i].re);
  };
  of("fault.small-results-flushed", kComplex).finish = [](Line<T>& y) {
    for (Point<T>& p : y) p = std::abs(p.re) < T{1} / 16 ? Point<T>{0, p.im} : p;
  };
}

template <class T>
void HalfFaults(FftEdits<T>& of) {
  of("fault.nyquist-doubled", kEvenReal).half = [](Line<T>& y, int64_t) { y.back() = y.back() * T{2}; };
  of("fault.nyquist-in-imaginary-part-of-first-bin", kEvenReal).half = [](Line<T>& y, int64_t) {
    y[0].im = std::exchange(y.back(), {}).re;
  };
  of("fault.first-bin-halved", kReal).half = [](Line<T>& y, int64_t) { y[0] = y[0] * (T{1} / 2); };
  of("fault.first-bin-lost", kReal).half = [](Line<T>& y, int64_t) { y[0] = {}; };
  of("fault.last-bin-of-odd-length-real", kOddReal).half = [](Line<T>& y, int64_t) { y.back().im = 0; };
  of("fault.last-bin-of-odd-length-conjugated", kOddReal).half = [](Line<T>& y, int64_t) {
    y.back() = y.back().Conjugate();
  };
  of("fault.bins-one-late", kReal).half = [](Line<T>& y, int64_t) { std::rotate(y.begin(), y.end() - 1, y.end()); };
  of("fault.middle-bin-conjugated", kReal).half = [](Line<T>& y, int64_t) {
    y[y.size() / 2] = y[y.size() / 2].Conjugate();
  };
  of("fault.bins-beyond-31-lost", kReal).half = [](Line<T>& y, int64_t) {
    for (size_t i = 32; i < y.size(); ++i) y[i] = {};
  };
  of("fault.second-bin-of-14-bits", kReal).half = [](Line<T>& y, int64_t) {
    y[1].re = Rounded(NearestBits(14), y[1].re);
  };
  of("fault.bins-of-odd-index-lose-sign", kFromReal).half = [](Line<T>& y, int64_t) {
    for (size_t i = 1; i < y.size(); i += 2) y[i].re = std::abs(y[i].re);
  };
}

template <class T>
void ScaleFaults(FftEdits<T>& of) {
  of("fault.scale-squared-for-root", kScaledByRoot).scale = [](Spec s) { return 1 / Count(s); };
  of("fault.scale-of-root-for-count", kScaledByCount).scale = [](Spec s) { return 1 / std::sqrt(Count(s)); };
  of("fault.scale-of-n-minus-1", kScaled).scale = [](Spec s) { return s.scale * Count(s) / (Count(s) - 1); };
  of("fault.scale-of-padded-length", kNoPowersOfTwo).scale = [](Spec s) {
    double padded = 1;
    while (padded < Count(s)) padded *= 2;
    return s.scale * Count(s) / padded;
  };
  of("fault.scale-doubled", kScaled).scale = [](Spec s) { return s.scale * 2; };
  of("fault.scale-of-5-decimals", kScaled).scale = [](Spec s) { return std::round(s.scale * 100000) / 100000; };
  of("fault.scale-in-f16", kScaled).scale = [](Spec s) { return Rounded(Nearest(kHalf), s.scale); };
  of("fault.scale-where-none-is", kUnscaled).scale = [](Spec s) { return 1 / Count(s); };
  FftKernel<T>& packed = of("fault.reals-packed-and-untangled-with-f16-twiddles", kEvenReal);
  packed.packs_reals = true;
  packed.root = [](int64_t j, int64_t n) {
    const Point<T> p = UnitRoot<T>(j, n);
    return Point<T>{Rounded(Nearest(kHalf), p.re), Rounded(Nearest(kHalf), p.im)};
  };
}

using enum Strike;
constexpr IoBug kPlaces[] = {
    {"fault.last-element-of-line-read-as-zero", 0, -1, Last(), kZero},
    {"fault.first-element-of-line-doubled", 0, -1, First(), kDoubled},
    {"fault.elements-beyond-255-wrap", 0, -1, From(256), kWrapped, When::kAlways, {}, 256},
    {"fault.element-index-in-bf16", 0, -1, All(), kOfBrain},
    {"fault.elements-of-tail-of-8-swapped", 0, -1, Tail(8), kSwapped},
    {"fault.last-element-reads-previous", 0, -1, Last(), kPrevious},
    {"fault.second-half-of-operand-zero", 0, kFlat, SecondHalf(), kZero},
    {"fault.last-line-repeats-previous", kOutput, -2, Last(), kPrevious},
    {"fault.last-line-reads-first", 0, -2, Last(), kFirst},
    {"fault.lines-beyond-15-unwritten", kOutput, -2, From(16), kUnwritten},
    {"fault.lines-swapped-in-tail", kOutput, -2, Tail(4), kSwapped},
    {"fault.results-beyond-511-repeat-first", kOutput, -1, From(512), kFirst},
    {"fault.last-result-of-odd-lines-negated", kOutput, -1, Last(), kNegated, When::kAlways, {}, 0, -2, Every(2, 1)},
    IoBug{"fault.results-of-15-bits-beyond-first-line", kOutput, -1, All(), kRounded}
        .To(NearestBits(15))
        .And(-2, From(1)),
};

}  // namespace

std::vector<Entry> FftHeldPlaces() {
  // No value of the suites is infinite or NaN, none has a place that 16 bits do not count.
  const std::vector<IoBug> general =
      BugsOfEveryOperator({"fault.infinite-operands-clamped", "fault.infinite-outputs-become-nan",
                           "fault.nan-in-second-half-of-operand-ignored", "fault.nan-operands-taken-as-largest",
                           "fault.operand-index-in-16-bits", "fault.output-index-in-16-bits"});
  return Joined({FftRows([](auto& of) { ResultFaults(of), HalfFaults(of), ScaleFaults(of); }), FftIoBugs(general),
                 FftIoBugs(kPlaces)});
}

}  // namespace corpus
