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

constexpr auto kScaled = [](Spec s) { return AreSmooth(s) && s.scaled; };
constexpr auto kScaledBatches = [](Spec s) { return kScaled(s) && s.batch > 1; };

template <class T>
void ResultFaults(FftEdits<T>& of) {
  of("fault.stages-in-fixed-point-of-12-bits", IsSmooth<5>).stored = [](Point<T> p) { return InFixedPoint(12, p); };
  of("fault.real-parts-of-stages-of-16-bits", IsSmooth<5>).stored = [](Point<T> p) {
    return Point<T>{Rounded(NearestBits(16), p.re), p.im};
  };
  of("fault.results-with-lowest-bits-of-index-swapped", IsComplex).finish = [](Line<T>& y) {
    for (size_t i = 1; i + 1 < y.size(); i += 4) std::swap(y[i], y[i + 1]);
  };
  of("fault.second-half-of-results-conjugated", IsComplex).finish = [](Line<T>& y) {
    for (size_t i = (y.size() + 1) / 2; i < y.size(); ++i) y[i] = y[i].Conjugate();
  };
  of("fault.last-result-but-one-lost", IsComplex).finish = [](Line<T>& y) {
    if (y.size() > 1) y[y.size() - 2] = {};
  };
  of("fault.first-result-loses-a-share-of-last", IsComplex).finish = [](Line<T>& y) {
    y[0] = y[0] - y[y.size() - 1] * (T{1} / 8);
  };
  of("fault.last-bin-repeats-first", IsReal).half = [](Line<T>& y, int64_t) { y.back() = y[0]; };
  of("fault.bins-of-last-pair-swapped", IsReal).half = [](Line<T>& y, int64_t) {
    std::swap(y[y.size() - 2], y[y.size() - 3]);
  };
  of("fault.second-half-of-bins-in-bf16", IsReal).half = [](Line<T>& y, int64_t) {
    for (size_t i = y.size() / 2; i < y.size(); ++i) y[i].im = Rounded(Nearest(kBrain), y[i].im);
  };
}

// The scale is taken back in a part of the output.
template <class T, bool kImaginary>
class PartlyScaled : public FftPlan<T> {
 public:
  using FftPlan<T>::FftPlan;

 private:
  void Store(const std::vector<T>&, DenseOutput<T>& y) override {
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

constexpr IoBug kPlaces[] = {
    {"fault.odd-lines-read-one-element-late", 0, -1, From(1), kPrevious, When::kAlways, {}, 0, -2, Every(2, 1)},
    {"fault.element-15-of-16-of-line-in-bf16", 0, -1, Every(16, 15), kRounded, When::kAlways, Nearest(kBrain)},
    {"fault.first-line-of-former-run", 0, -2, First(), kStale},
};

}  // namespace

std::vector<Entry> FftFreshResults() {
  return Joined({FftRows([](auto& of) { ResultFaults(of); }),
                 FftRows<RealScaled>([](auto& of) { of("fault.scale-of-every-other-value-missing", kScaled); }),
                 FftRows<LastUnscaled>([](auto& of) { of("fault.scale-missing-in-last-batch", kScaledBatches); }),
                 FftIoBugs(kPlaces)});
}

}  // namespace corpus
