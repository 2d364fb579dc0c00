// SPDX-License-Identifier: Apache-2.0
// Transforms with wrong or coarse twiddles, wrong half spectra, results in the wrong place.
#include <algorithm>
#include <bit>

#include "tests/faults/corpus/fft_plan.h"

namespace corpus {
namespace fft_faults {

using plugin::BF16;
using plugin::F16;
using Spec = const FftSpec&;

template <class Storage, class T>
Point<T> Narrow(Point<T> p) {
  return {RoundedTo<Storage>(p.re), RoundedTo<Storage>(p.im)};
}
template <class T>
Point<T> InTf32(Point<T> p) {
  return {RoundedToTf32(p.re), RoundedToTf32(p.im)};
}
template <class T, class Storage>
Point<T> NarrowRoot(int64_t j, int64_t n) {
  return Narrow<Storage>(UnitRoot<T>(j, n));
}
// Each root of the f32 table is made out of the one before.
template <class T>
Point<T> RootByRecurrence(int64_t j, int64_t n) {
  const Point<T> step = Narrow<float>(UnitRoot<T>(1, n));
  Point<T> root{1, 0};
  for (int64_t i = 0; i < j % n; ++i) root = Narrow<float>(Product(root, step));
  return root;
}
// Both parts keep so many bits, as tables of a hardware format do.
template <class T, int kBits>
Point<T> RootOfBits(int64_t j, int64_t n) {
  const Point<T> root = UnitRoot<T>(j, n);
  return {RoundedToBits(kBits, root.re), RoundedToBits(kBits, root.im)};
}
// The angle is a product of f32, whose roundings are as large as the angle is.
template <class T>
Point<T> RootOfF32Angle(int64_t j, int64_t n) {
  const auto turn = static_cast<float>(2 * std::numbers::pi_v<long double>);
  const float angle = turn * static_cast<float>(j % n) / static_cast<float>(n);
  return {std::cos(static_cast<T>(angle)), -std::sin(static_cast<T>(angle))};
}
// An angle of f16: the fast sine's argument.
template <class T>
Point<T> RootOfF16Angle(int64_t j, int64_t n) {
  const T angle = RoundedTo<F16>(static_cast<T>(2 * std::numbers::pi_v<long double> * static_cast<long double>(j % n) /
                                                static_cast<long double>(n)));
  return {std::cos(angle), -std::sin(angle)};
}

// Where each bug can strike.
bool HasSmooth(Spec s, int64_t least) {
  return AreSmooth(s) && s.n.back() >= least;
}
constexpr auto kSmooth = [](Spec s) { return HasSmooth(s, 4); };
// A twiddle that is neither 1 nor i.
constexpr auto kTwiddled = [](Spec s) { return HasSmooth(s, 5); };
constexpr auto kTwiddledNarrow = [](Spec s) { return HasSmooth(s, 5) && !s.wide; };
constexpr auto kTwiddledWide = [](Spec s) { return HasSmooth(s, 5) && s.wide; };
// Results that are computed, not mirror images of others. A line of a c2r transform is real afterwards.
constexpr auto kEvenComplex = [](Spec s) { return HasSmooth(s, 4) && s.kind == FftKind::kC2C && s.n.back() % 2 == 0; };
constexpr auto kPowersOfTwo = [](Spec s) { return ArePowersOfTwo(s) && s.n.back() >= 8; };
constexpr auto kComplex = [](Spec s) { return HasSmooth(s, 4) && s.kind == FftKind::kC2C; };
constexpr auto kReal = [](Spec s) { return HasSmooth(s, 4) && s.kind != FftKind::kC2C; };
constexpr auto kEvenReal = [](Spec s) { return HasSmooth(s, 6) && s.kind != FftKind::kC2C && s.n.back() % 2 == 0; };
constexpr auto kScaled = [](Spec s) { return AreSmooth(s) && s.scaled && s.scale != 1; };
constexpr auto kScaledByNoPower = [](Spec s) {
  return AreSmooth(s) && s.scaled && RoundedTo<BF16>(s.scale) != s.scale;
};
constexpr auto kScaledBatch = [](Spec s) { return AreSmooth(s) && s.scaled && s.batch > 1; };
constexpr auto kScaledAxes = [](Spec s) { return AreSmooth(s) && s.scaled && s.Points() > s.n.back(); };
constexpr auto kBatched = [](Spec s) { return AreSmooth(s) && s.batch > 1; };
constexpr auto kRealRows = [](Spec s) {
  return AreSmooth(s) && s.kind == FftKind::kR2C && s.n.size() == 1 && s.n[0] > 1 && s.batch > 1;
};
constexpr auto kSeveralAxes = [](Spec s) { return AreSmooth(s) && s.Points() > s.n.back() && s.n[0] > 1; };
// Up to the next power of two there is too little room, unless n is one: an even chirp has the period n.
constexpr auto kConvolved = [](Spec s) { return s.n.size() == 1 && !ArePowersOfTwo(s); };
constexpr auto kSeveralPoints = [](Spec s) { return s.n.size() == 1 && s.n[0] > 4; };
constexpr auto kSeveralPointsNarrow = [](Spec s) { return kSeveralPoints(s) && !s.wide; };

template <class T>
void Arithmetic(FftEdits<T>& of) {
  of("fault.twiddles-in-f16", kTwiddled).root = NarrowRoot<T, F16>;
  of("fault.twiddles-in-bf16", kTwiddled).root = NarrowRoot<T, BF16>;
  of("fault.twiddles-in-f32", kTwiddledWide).root = NarrowRoot<T, float>;
  of("fault.twiddles-by-recurrence", kTwiddledNarrow).root = RootByRecurrence<T>;
  of("fault.twiddles-of-18-bits", kTwiddledNarrow).root = RootOfBits<T, 18>;
  of("fault.twiddles-of-f32-angles", kTwiddledNarrow).root = RootOfF32Angle<T>;
  of("fault.twiddles-of-f16-angles", kTwiddled).root = RootOfF16Angle<T>;
  // The last entry of every table repeats the one before.
  const auto repeated = [](int64_t j, int64_t n) { return UnitRoot<T>(n > 2 && j == n / 2 - 1 ? j - 1 : j, n); };
  of("fault.last-twiddle-repeated", kPowersOfTwo) = {.transform = StockhamTransform<T>, .root = repeated};
  of("fault.products-in-tf32", kTwiddled).product = [](Point<T> a, Point<T> b) {
    return Product(InTf32(a), InTf32(b));
  };
  // The product of the imaginary parts is lost in one of the two sums.
  of("fault.product-half-complex", kTwiddled).product = [](Point<T> a, Point<T> b) {
    return Point<T>{a.re * b.re - a.im * b.im, a.re * b.im};
  };
  of("fault.stages-stored-in-f16", kSmooth).stored = Narrow<F16, T>;
  of("fault.stages-stored-in-bf16", kSmooth).stored = Narrow<BF16, T>;
}

template <class T>
void Convolutions(FftEdits<T>& of) {
  const auto chirp = [&of](const char* name, auto strikes, auto root) {
    of(name, strikes, FftBluesteinContract) = {.transform = BluesteinTransform<T>, .root = root};
  };
  chirp("fault.bluestein-padding-short", kConvolved, UnitRoot<T>);
  of.Last().padded = [](int64_t n) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))); };
  chirp("fault.bluestein-chirp-in-f16", kSeveralPoints, NarrowRoot<T, F16>);
  chirp("fault.bluestein-chirp-of-18-bits", kSeveralPointsNarrow, RootOfBits<T, 18>);
  chirp("fault.bluestein-chirp-of-20-bits", kSeveralPointsNarrow, RootOfBits<T, 20>);
}

// After a line: bit reversal swaps two of its results, a butterfly adds where it subtracts, a difference is negated.
template <class T>
void Results(FftEdits<T>& of) {
  of("fault.wrong-sign", kTwiddled).wrong_sign = true;
  of("fault.bit-reversal-swaps-two", kEvenComplex).finish = [](Line<T>& y) { std::swap(y[1], y[y.size() / 2]); };
  of("fault.last-butterfly-adds-twice", kEvenComplex).finish = [](Line<T>& y) {
    y[y.size() - 1] = y[y.size() / 2 - 1];
  };
  of("fault.last-result-negated", kComplex).finish = [](Line<T>& y) { y.back() = y.back() * T{-1}; };
  of("fault.results-reversed", kComplex).finish = [](Line<T>& y) { std::reverse(y.begin() + 1, y.end()); };
  of("fault.results-rotated", kComplex).finish = [](Line<T>& y) { std::rotate(y.begin(), y.end() - 1, y.end()); };
}

template <class T>
void HalfSpectra(FftEdits<T>& of) {
  of("fault.nyquist-dropped", kEvenReal).half = [](Line<T>& half, int64_t) { half.back() = {}; };
  of("fault.last-bin-repeated", kReal).half = [](Line<T>& half, int64_t) { half.back() = half[half.size() - 2]; };
  of("fault.half-spectrum-conjugated", kReal).half = [](Line<T>& half, int64_t) {
    for (Point<T>& p : half) p = p.Conjugate();
  };
  // All but the first bin, as if the others' mirror images were still to be added.
  of("fault.half-spectrum-doubled", kReal).half = [](Line<T>& half, int64_t) {
    for (size_t k = 1; k < half.size(); ++k) half[k] = half[k] * T{2};
  };
  of("fault.packed-reals-untangled-wrongly", kEvenReal) = {.packs_reals = true, .untangles_wrongly = true};
}

template <class T>
void ScalesAndPlaces(FftEdits<T>& of) {
  of("fault.scale-missing", kScaled).scale = [](Spec) { return T{1}; };
  of("fault.scale-twice", kScaled).scale = [](Spec s) { return FftScaleOf<T>(s) * FftScaleOf<T>(s); };
  of("fault.scale-counts-batch", kScaledBatch).scale = [](Spec s) {
    return FftScaleOf<T>(s) / static_cast<T>(s.batch);
  };
  of("fault.scale-of-last-axis", kScaledAxes).scale = [](Spec s) {
    const T points = static_cast<T>(s.Points()), own = static_cast<T>(s.n.back());
    return s.scale * static_cast<double>(s.Points()) == 1 ? T{1} / own : FftScaleOf<T>(s) * std::sqrt(points / own);
  };
  of("fault.scale-in-bf16", kScaledByNoPower).scale = [](Spec s) { return RoundedTo<BF16>(FftScaleOf<T>(s)); };
  of("fault.batch-stride-one-short", kBatched).batch_step_short = 1;
  // Right but where one row is not finite, or far larger than the other: each row is a transform of its own.
  of("fault.real-rows-in-pairs", kRealRows).pairs_rows = true;
  of("fault.first-axis-left-out", kSeveralAxes).axes_left_out = 1;
}

// The last number, or the last batch.
template <class T, bool kBatch>
class EndUnwritten : public FftPlan<T> {
 public:
  using FftPlan<T>::FftPlan;

 private:
  void Store(const std::vector<T>&, DenseOutput<T>& y) override {
    const int64_t size = std::ssize(y.values);
    for (int64_t i = size - (kBatch ? size / this->spec().batch : 1); i < size; ++i) y.LeaveUnwritten(i);
  }
};
template <class T>
using LastNumberUnwritten = EndUnwritten<T, false>;
template <class T>
using LastBatchUnwritten = EndUnwritten<T, true>;

// From the third call on, another kernel (as if picked by tuning) keeps 18 bits of its results.
template <class T>
class CoarserFromTheThirdCall : public FftPlan<T> {
 public:
  using FftPlan<T>::FftPlan;

 private:
  void Store(const std::vector<T>&, DenseOutput<T>& y) override {
    if (calls_++ < 2 && !this->exact()) return;
    for (T& value : y.values) value = RoundedToBits(18, value);
  }
  int calls_ = 0;
};

}  // namespace fft_faults

std::vector<Entry> FftFaults() {
  using namespace fft_faults;
  return Joined(
      {FftRows([](auto& of) { Arithmetic(of), Convolutions(of), Results(of), HalfSpectra(of), ScalesAndPlaces(of); }),
       FftRows<CoarserFromTheThirdCall>([](auto& of) { of("fault.coarser-from-the-third-call", kTwiddledNarrow); }),
       FftRows<LastNumberUnwritten>([](auto& of) { of("fault.last-element-unwritten", kSmooth); }),
       FftRows<LastBatchUnwritten>([](auto& of) { of("fault.last-batch-unwritten", kBatched); })});
}

}  // namespace corpus
