// SPDX-License-Identifier: Apache-2.0
// Transforms whose results, half spectra, scales or batches are wrong.
#include "tests/faults/corpus/held/fft_held.h"

namespace corpus {
namespace {

bool HasSmooth(const FftSpec& s, int64_t least) {
  return AreSmooth(s) && s.n.back() >= least;
}
std::string AnySmooth(Description op) {
  return FftWhen(op, AreSmooth, "this needs prime factors up to 31");
}
std::string Complex(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 5) && s.kind == FftKind::kC2C; }, "this needs complex lines");
}
std::string EvenComplex(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 6) && s.kind == FftKind::kC2C && s.n.back() % 4 == 0; },
      "this needs complex lines of a multiple of 4");
}
std::string Real(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 5) && s.kind != FftKind::kC2C; }, "this needs real lines");
}
std::string EvenReal(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 6) && s.kind != FftKind::kC2C && s.n.back() % 2 == 0; },
      "this needs real lines of even length");
}
std::string OddReal(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 5) && s.kind != FftKind::kC2C && s.n.back() % 2 == 1; },
      "this needs real lines of odd length");
}
std::string FromReal(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 5) && s.kind == FftKind::kR2C; }, "this needs real operands");
}
std::string Scaled(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 5) && s.scaled; }, "this needs a scale");
}
std::string ScaledByRoot(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 5) && s.scaled && s.scale * static_cast<double>(s.Points()) != 1; },
      "this needs the scale of a root");
}
std::string ScaledByCount(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 5) && s.scaled && s.scale * static_cast<double>(s.Points()) == 1; },
      "this needs the scale of 1/n");
}
std::string Unscaled(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 5) && !s.scaled; }, "this needs no scale");
}
std::string NoPowersOfTwo(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 5) && s.scaled && !ArePowersOfTwo(s); },
      "this needs a scale and lengths that are no powers of two");
}
template <class Change>
Entry Fault(const char* name, TextOf why_not, Change change) {
  return FftEntry(name, FftContract, why_not, [change]<class T>(std::type_identity<T>) {
    FftKernel<T> kernel{.transform = RadixTransform<T, SmallestFactor>};
    change(kernel);
    return kernel;
  });
}
// `change(line)` spoils the results of each line, `change(half spectrum, n)` what reals make or come from.
template <class Change>
Entry Results(const char* name, TextOf why_not, Change change) {
  return Fault(name, why_not, [change]<class T>(FftKernel<T>& k) { k.finish = change; });
}
template <class Change>
Entry Halves(const char* name, TextOf why_not, Change change) {
  return Fault(name, why_not, [change]<class T>(FftKernel<T>& k) { k.half = change; });
}
template <class Scale>
Entry Scales(const char* name, TextOf why_not, Scale scale) {
  return Fault(name, why_not, [scale]<class T>(FftKernel<T>& k) {
    k.scale = [scale](const FftSpec& s) { return static_cast<T>(scale(s)); };
  });
}

double Count(const FftSpec& s) {
  return static_cast<double>(s.Points());
}

std::vector<Entry> ResultFaults() {
  return {
      Results("fault.first-result-zero", Complex, []<class T>(Line<T>& y) { y[0] = {}; }),
      Results("fault.first-result-doubled", Complex, []<class T>(Line<T>& y) { y[0] = y[0] * T{2}; }),
      Results("fault.middle-result-negated", EvenComplex,
              []<class T>(Line<T>& y) { y[y.size() / 2] = y[y.size() / 2] * T{-1}; }),
      Results("fault.second-result-conjugated", Complex, []<class T>(Line<T>& y) { y[1] = y[1].Conjugate(); }),
      Results("fault.last-result-loses-imaginary-part", Complex, []<class T>(Line<T>& y) { y.back().im = 0; }),
      Results("fault.halves-of-results-swapped", EvenComplex,
              []<class T>(Line<T>& y) { std::rotate(y.begin(), y.begin() + std::ssize(y) / 2, y.end()); }),
      Results("fault.quarters-of-results-swapped", EvenComplex,
              []<class T>(Line<T>& y) {
                const auto quarter = std::ssize(y) / 4;
                std::swap_ranges(y.begin() + quarter, y.begin() + 2 * quarter, y.begin() + 2 * quarter);
              }),
      Results("fault.tail-of-8-results-zero", Complex,
              []<class T>(Line<T>& y) {
                for (size_t i = y.size() / 8 * 8; i < y.size(); ++i) y[i] = {};
              }),
      Results("fault.last-two-results-swapped-in-line", Complex,
              []<class T>(Line<T>& y) { std::swap(y[y.size() - 1], y[y.size() - 2]); }),
      Results("fault.parts-of-last-result-swapped", Complex,
              []<class T>(Line<T>& y) { std::swap(y.back().re, y.back().im); }),
      Results("fault.odd-results-of-16-bits", Complex,
              []<class T>(Line<T>& y) {
                for (size_t i = 1; i < y.size(); i += 2) y[i].re = Rounded(NearestBits(16), y[i].re);
              }),
      Results("fault.small-results-flushed", Complex,
              []<class T>(Line<T>& y) {
                for (Point<T>& p : y) p = std::abs(p.re) < T{1} / 16 ? Point<T>{0, p.im} : p;
              }),
  };
}

std::vector<Entry> HalfFaults() {
  return {
      Halves("fault.nyquist-doubled", EvenReal, []<class T>(Line<T>& y, int64_t) { y.back() = y.back() * T{2}; }),
      Halves("fault.nyquist-in-imaginary-part-of-first-bin", EvenReal,
             []<class T>(Line<T>& y, int64_t) { y[0].im = std::exchange(y.back(), {}).re; }),
      Halves("fault.first-bin-halved", Real, []<class T>(Line<T>& y, int64_t) { y[0] = y[0] * (T{1} / 2); }),
      Halves("fault.first-bin-lost", Real, []<class T>(Line<T>& y, int64_t) { y[0] = {}; }),
      Halves("fault.last-bin-of-odd-length-real", OddReal, []<class T>(Line<T>& y, int64_t) { y.back().im = 0; }),
      Halves("fault.last-bin-of-odd-length-conjugated", OddReal,
             []<class T>(Line<T>& y, int64_t) { y.back() = y.back().Conjugate(); }),
      Halves("fault.bins-one-late", Real,
             []<class T>(Line<T>& y, int64_t) { std::rotate(y.begin(), y.end() - 1, y.end()); }),
      Halves("fault.middle-bin-conjugated", Real,
             []<class T>(Line<T>& y, int64_t) { y[y.size() / 2] = y[y.size() / 2].Conjugate(); }),
      Halves("fault.bins-beyond-31-lost", Real,
             []<class T>(Line<T>& y, int64_t) {
               for (size_t i = 32; i < y.size(); ++i) y[i] = {};
             }),
      Halves("fault.second-bin-of-14-bits", Real,
             []<class T>(Line<T>& y, int64_t) { y[1].re = Rounded(NearestBits(14), y[1].re); }),
      Halves("fault.bins-of-odd-index-lose-sign", FromReal,
             []<class T>(Line<T>& y, int64_t) {
               for (size_t i = 1; i < y.size(); i += 2) y[i].re = std::abs(y[i].re);
             }),
  };
}

std::vector<Entry> ScaleFaults() {
  return {
      Scales("fault.scale-squared-for-root", ScaledByRoot, [](const FftSpec& s) { return 1 / Count(s); }),
      Scales("fault.scale-of-root-for-count", ScaledByCount, [](const FftSpec& s) { return 1 / std::sqrt(Count(s)); }),
      Scales("fault.scale-of-n-minus-1", Scaled, [](const FftSpec& s) { return s.scale * Count(s) / (Count(s) - 1); }),
      Scales("fault.scale-of-padded-length", NoPowersOfTwo,
             [](const FftSpec& s) {
               double padded = 1;
               while (padded < Count(s)) padded *= 2;
               return s.scale * Count(s) / padded;
             }),
      Scales("fault.scale-doubled", Scaled, [](const FftSpec& s) { return s.scale * 2; }),
      Scales("fault.scale-of-5-decimals", Scaled,
             [](const FftSpec& s) { return std::round(s.scale * 100000) / 100000; }),
      Scales("fault.scale-in-f16", Scaled, [](const FftSpec& s) { return Rounded(Nearest(kHalf), s.scale); }),
      Scales("fault.scale-where-none-is", Unscaled, [](const FftSpec& s) { return 1 / Count(s); }),
      Fault("fault.reals-packed-and-untangled-with-f16-twiddles", EvenReal,
            []<class T>(FftKernel<T>& k) {
              k.packs_reals = true;
              k.root = [](int64_t j, int64_t n) {
                const Point<T> p = UnitRoot<T>(j, n);
                return Point<T>{Rounded(Nearest(kHalf), p.re), Rounded(Nearest(kHalf), p.im)};
              };
            }),
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
    {"fault.results-of-15-bits-beyond-first-line", kOutput, -1, All(), kRounded, When::kAlways, NearestBits(15), 0, -2,
     From(1)},
};

}  // namespace

std::vector<Entry> FftHeldPlaces() {
  std::vector<Entry> all;
  for (const auto& list : {ResultFaults(), HalfFaults(), ScaleFaults()})
    all.insert(all.end(), list.begin(), list.end());
  const auto make = []<class T>(std::type_identity<T>, const IoBug& bug, Description op, bool exact) {
    return std::make_unique<Struck<FftPlan<T>>>(bug, op, exact,
                                                FftKernel<T>{.transform = RadixTransform<T, SmallestFactor>});
  };
  // No value of the suites is infinite or NaN, none has a place that 16 bits do not count.
  std::vector<IoBug> bugs =
      BugsOfEveryOperator({"fault.infinite-operands-clamped", "fault.infinite-outputs-become-nan",
                           "fault.nan-in-second-half-of-operand-ignored", "fault.nan-operands-taken-as-largest",
                           "fault.operand-index-in-16-bits", "fault.output-index-in-16-bits"});
  bugs.insert(bugs.end(), std::begin(kPlaces), std::end(kPlaces));
  const auto others = IoEntries("fft", FftContract, AnySmooth, bugs, make);
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace corpus
