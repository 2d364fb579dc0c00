// SPDX-License-Identifier: Apache-2.0
// Transforms whose stages lose bits, whose results are out of order, or whose scale misses a part.
#include "tests/faults/corpus/fresh/fft_fresh.h"

namespace corpus {
namespace {

using Spec = const FftSpec&;
using enum Strike;

bool IsComplex(Spec s) {
  return AreSmooth(s) && s.kind == FftKind::kC2C && s.n.back() >= 8;
}
bool IsReal(Spec s) {
  return AreSmooth(s) && s.kind != FftKind::kC2C && s.n.back() >= 8;
}

template <class Strikes, class Change>
Entry Results(const char* name, Strikes strikes, Change change) {
  return FftFault(name, strikes, [change](auto& kernel) { kernel.finish = change; });
}
template <class Strikes, class Change>
Entry Halves(const char* name, Strikes strikes, Change change) {
  return FftFault(name, strikes, [change](auto& kernel) { kernel.half = change; });
}

// One of two lowest bits of the index changes place with the other.
template <class T>
void SwapLowestBits(Line<T>& y) {
  for (size_t i = 1; i + 1 < y.size(); i += 4) std::swap(y[i], y[i + 1]);
}

std::vector<Entry> ResultFaults() {
  return {
      FftFault("fault.stages-in-fixed-point-of-12-bits", IsSmooth<5>,
               []<class T>(FftKernel<T>& k) { k.stored = [](Point<T> p) { return InFixedPoint(12, p); }; }),
      FftFault("fault.real-parts-of-stages-of-16-bits", IsSmooth<5>,
               []<class T>(FftKernel<T>& k) {
                 k.stored = [](Point<T> p) { return Point<T>{Rounded(NearestBits(16), p.re), p.im}; };
               }),
      Results("fault.results-with-lowest-bits-of-index-swapped", IsComplex,
              []<class T>(Line<T>& y) { SwapLowestBits(y); }),
      Results("fault.second-half-of-results-conjugated", IsComplex,
              []<class T>(Line<T>& y) {
                for (size_t i = (y.size() + 1) / 2; i < y.size(); ++i) y[i] = y[i].Conjugate();
              }),
      Results("fault.last-result-but-one-lost", IsComplex,
              []<class T>(Line<T>& y) {
                if (y.size() > 1) y[y.size() - 2] = {};
              }),
      Results("fault.first-result-loses-a-share-of-last", IsComplex,
              []<class T>(Line<T>& y) { y[0] = y[0] - y[y.size() - 1] * (T{1} / 8); }),
      Halves("fault.last-bin-repeats-first", IsReal, []<class T>(Line<T>& y, int64_t) { y.back() = y[0]; }),
      Halves("fault.bins-of-last-pair-swapped", IsReal,
             []<class T>(Line<T>& y, int64_t) { std::swap(y[y.size() - 2], y[y.size() - 3]); }),
      Halves("fault.second-half-of-bins-in-bf16", IsReal,
             []<class T>(Line<T>& y, int64_t) {
               for (size_t i = y.size() / 2; i < y.size(); ++i) y[i].im = Rounded(Nearest(kBrain), y[i].im);
             }),
  };
}

// The scale is taken back in a part of the output.
template <class T, bool kImaginary>
class PartlyScaled : public FftPlan<T> {
 public:
  using FftPlan<T>::FftPlan;

 private:
  void Finish(DenseOutput<T>& y) override {
    const auto n = std::ssize(y.values), step = n / this->spec().batch;
    for (int64_t i = 0; i < n; ++i) {
      const bool struck = kImaginary ? i % 2 == 1 : i >= n - step;
      if (struck) y.values[static_cast<size_t>(i)] /= static_cast<T>(this->spec().scale);
    }
  }
};
template <class T>
using RealScaled = PartlyScaled<T, true>;
template <class T>
using LastUnscaled = PartlyScaled<T, false>;

std::vector<Entry> ScaleFaults() {
  return {
      FftFault<RealScaled>(
          "fault.scale-of-every-other-value-missing", [](Spec s) { return AreSmooth(s) && s.scaled; }, [](auto&) {}),
      FftFault<LastUnscaled>(
          "fault.scale-missing-in-last-batch", [](Spec s) { return AreSmooth(s) && s.scaled && s.batch > 1; },
          [](auto&) {}),
  };
}

constexpr IoBug kPlaces[] = {
    {"fault.odd-lines-read-one-element-late", 0, -1, From(1), kPrevious, When::kAlways, {}, 0, -2, Every(2, 1)},
    {"fault.element-15-of-16-of-line-in-bf16", 0, -1, Every(16, 15), kRounded, When::kAlways, Nearest(kBrain)},
    {"fault.first-line-of-former-run", 0, -2, First(), kStale},
};

}  // namespace

std::vector<Entry> FftFreshResults() {
  std::vector<Entry> all = ResultFaults();
  const std::vector<Entry> scales = ScaleFaults();
  all.insert(all.end(), scales.begin(), scales.end());
  const auto make = []<class T>(std::type_identity<T>, const IoBug& bug, Description op, bool exact) {
    return std::make_unique<Struck<FftPlan<T>>>(bug, op, exact,
                                                FftKernel<T>{.transform = RadixTransform<T, SmallestFactor>});
  };
  const auto why_not = [](Description op) { return FftWhen(op, AreSmooth, "this needs prime factors up to 31"); };
  const auto others = IoEntries("fft", FftContract, why_not, kPlaces, make);
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace corpus
