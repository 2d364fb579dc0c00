// SPDX-License-Identifier: Apache-2.0
// Transforms with wrong or coarse twiddles, wrong half spectra, results in the wrong place.
#include "tests/faults/corpus/fft_plan.h"

namespace corpus {
namespace fft_faults {

using plugin::BF16;
using plugin::F16;

template <class T, class Storage>
Point<T> Rounded(Point<T> p) {
  return {RoundedTo<Storage>(p.re), RoundedTo<Storage>(p.im)};
}
template <class T>
Point<T> RoundedToTf32(Point<T> p) {
  return {corpus::RoundedToTf32(p.re), corpus::RoundedToTf32(p.im)};
}

template <class T, class Storage>
Point<T> NarrowRoot(int64_t j, int64_t n) {
  return Rounded<T, Storage>(UnitRoot<T>(j, n));
}
// Each root of the f32 table is made out of the one before.
template <class T>
Point<T> RootByRecurrence(int64_t j, int64_t n) {
  const Point<T> step = Rounded<T, float>(UnitRoot<T>(1, n));
  Point<T> root{1, 0};
  for (int64_t i = 0; i < j % n; ++i) root = Rounded<T, float>(Product(root, step));
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
// The last entry of every table repeats the one before.
template <class T>
Point<T> LastRootRepeated(int64_t j, int64_t n) {
  return UnitRoot<T>(n > 2 && j == n / 2 - 1 ? j - 1 : j, n);
}
template <class T>
Point<T> TF32Product(Point<T> a, Point<T> b) {
  return Product(RoundedToTf32(a), RoundedToTf32(b));
}
// The product of the imaginary parts is lost in one of the two sums.
template <class T>
Point<T> HalfProduct(Point<T> a, Point<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im};
}

int64_t LengthNotDoubled(int64_t n) {
  int64_t padded = 1;
  while (padded < n) padded *= 2;
  return padded;
}

// After a line: bit reversal swaps two of its results, a butterfly adds where it subtracts, a difference is negated.
template <class T>
void SwapTwo(Line<T>& y) {
  std::swap(y[1], y[y.size() / 2]);
}
template <class T>
void SumForDifference(Line<T>& y) {
  y[y.size() - 1] = y[y.size() / 2 - 1];
}
template <class T>
void NegateLast(Line<T>& y) {
  y.back() = y.back() * T{-1};
}
template <class T>
void Reverse(Line<T>& y) {
  for (size_t i = 1, j = y.size() - 1; i < j; ++i, --j) std::swap(y[i], y[j]);
}
template <class T>
void Rotate(Line<T>& y) {
  const Point<T> last = y.back();
  y.insert(y.begin(), last), y.pop_back();
}

// The following bugs are for half spectra.
template <class T>
void LastBinZero(Line<T>& half, int64_t) {
  half.back() = {};
}
template <class T>
void LastBinRepeated(Line<T>& half, int64_t) {
  half.back() = half[half.size() - 2];
}
template <class T>
void Conjugated(Line<T>& half, int64_t) {
  for (Point<T>& p : half) p = p.Conjugate();
}
// All but the first bin, as if the others' mirror images were still to be added.
template <class T>
void Doubled(Line<T>& half, int64_t) {
  for (size_t k = 1; k < half.size(); ++k) half[k] = half[k] * T{2};
}

template <class T>
T NoScale(const FftSpec&) {
  return T{1};
}
template <class T>
T ScaleTwice(const FftSpec& s) {
  return ScaleOf<T>(s) * ScaleOf<T>(s);
}
template <class T>
T ScaleOfBatch(const FftSpec& s) {
  return ScaleOf<T>(s) / static_cast<T>(s.batch);
}
template <class T>
T ScaleOfLastAxis(const FftSpec& s) {
  FftSpec last = s;
  last.n = {s.n.back()};
  const T points = static_cast<T>(s.Points()), own = static_cast<T>(last.Points());
  return s.scale * static_cast<double>(s.Points()) == 1 ? T{1} / own : ScaleOf<T>(s) * std::sqrt(points / own);
}
template <class T>
T ScaleInBF16(const FftSpec& s) {
  return RoundedTo<BF16>(ScaleOf<T>(s));
}

// Where each bug can strike.
bool HasSmooth(const FftSpec& s, int64_t least) {
  return AreSmooth(s) && s.n.back() >= least;
}
std::string Smooth(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 4); }, "this needs a length with prime factors up to 31");
}
// A twiddle that is neither 1 nor i.
std::string Twiddled(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 5); }, "this needs a length of at least 5");
}
std::string TwiddledNarrow(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 5) && !s.wide; }, "this is for f32 transforms from 5 points");
}
std::string TwiddledWide(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 5) && s.wide; }, "this is for f64 transforms from 5 points");
}
// Results that are computed, not mirror images of others. A line of a c2r transform is real afterwards.
std::string EvenComplex(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 4) && s.kind == FftKind::kC2C && s.n.back() % 2 == 0; },
      "this needs complex lines of even length");
}
std::string PowersOfTwo(Description op) {
  return FftWhen(
      op, [](const auto& s) { return ArePowersOfTwo(s) && s.n.back() >= 8; }, "this needs powers of two");
}
std::string Complex(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 4) && s.kind == FftKind::kC2C; }, "this needs complex lines");
}
std::string Real(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 4) && s.kind != FftKind::kC2C; }, "this needs real lines");
}
std::string EvenReal(Description op) {
  return FftWhen(
      op, [](const auto& s) { return HasSmooth(s, 6) && s.kind != FftKind::kC2C && s.n.back() % 2 == 0; },
      "this needs real lines of even length");
}
std::string Scaled(Description op) {
  return FftWhen(
      op, [](const auto& s) { return AreSmooth(s) && s.scaled && s.scale != 1; }, "this needs a scale");
}
std::string ScaledByNoPower(Description op) {
  return FftWhen(
      op, [](const auto& s) { return AreSmooth(s) && s.scaled && RoundedTo<BF16>(s.scale) != s.scale; },
      "this needs a scale that bf16 does not hold");
}
std::string ScaledBatch(Description op) {
  return FftWhen(
      op, [](const auto& s) { return AreSmooth(s) && s.scaled && s.batch > 1; }, "this needs a scale and a batch");
}
std::string ScaledAxes(Description op) {
  return FftWhen(
      op, [](const auto& s) { return AreSmooth(s) && s.scaled && s.Points() > s.n.back(); },
      "this needs a scale and several axes");
}
std::string Batched(Description op) {
  return FftWhen(
      op, [](const auto& s) { return AreSmooth(s) && s.batch > 1; }, "this needs a batch");
}
std::string RealRows(Description op) {
  return FftWhen(
      op,
      [](const auto& s) {
        return AreSmooth(s) && s.kind == FftKind::kR2C && s.n.size() == 1 && s.n[0] > 1 && s.batch > 1;
      },
      "this needs several real rows");
}
std::string SeveralAxes(Description op) {
  return FftWhen(
      op, [](const auto& s) { return AreSmooth(s) && s.Points() > s.n.back() && s.n[0] > 1; },
      "this needs several axes");
}
// Up to the next power of two there is too little room, unless n is one: an even chirp has the period n.
std::string Convolved(Description op) {
  return FftWhen(
      op, [](const auto& s) { return s.n.size() == 1 && !ArePowersOfTwo(s); },
      "this needs one axis, its length no power of two");
}
std::string SeveralPoints(Description op) {
  return FftWhen(
      op, [](const auto& s) { return s.n.size() == 1 && s.n[0] > 4; }, "this needs one axis of more than 4 points");
}
std::string SeveralPointsNarrow(Description op) {
  return FftWhen(
      op, [](const auto& s) { return s.n.size() == 1 && s.n[0] > 4 && !s.wide; },
      "this is for f32 transforms of one axis of more than 4 points");
}
std::string BluesteinClass(Description op) {
  return FftClass(op, "bluestein");
}

template <class T>
class LastOutputUnwritten : public FftPlan<T> {
 public:
  using FftPlan<T>::FftPlan;

 private:
  void Finish(DenseOutput<T>& y) override { y.LeaveUnwritten(std::ssize(y.values) - 1); }
};

template <class T>
class LastBatchUnwritten : public FftPlan<T> {
 public:
  using FftPlan<T>::FftPlan;

 private:
  void Finish(DenseOutput<T>& y) override {
    const int64_t size = std::ssize(y.values);
    for (int64_t i = size - size / this->spec().batch; i < size; ++i) y.LeaveUnwritten(i);
  }
};

// From the third call on, another kernel (as if picked by tuning) keeps 18 bits of its results.
template <class T>
class CoarserFromTheThirdCall : public FftPlan<T> {
 public:
  using FftPlan<T>::FftPlan;

 private:
  void Finish(DenseOutput<T>& y) override {
    if (calls_++ < 2 && !this->exact()) return;
    for (T& value : y.values) value = RoundedToBits(18, value);
  }
  int calls_ = 0;
};

template <class T>
FftKernel<T> Clean() {
  return {.transform = RadixTransform<T, SmallestFactor>};
}

// An entry whose `change(kernel)` spoils a mixed-radix transform.
template <class Change>
Entry Fault(const char* name, TextOf why_not, Change change) {
  return FftEntry(name, FftContract, why_not, [change]<class T>(std::type_identity<T>) {
    FftKernel<T> kernel = Clean<T>();
    change(kernel);
    return kernel;
  });
}

template <template <class> class Plan>
Entry OfPlan(const char* name, TextOf why_not) {
  return FftEntryOf<Plan>(name, FftContract, why_not, []<class T>(std::type_identity<T>) { return Clean<T>(); });
}

std::vector<Entry> ArithmeticFaults() {
  return {
      Fault("fault.twiddles-in-f16", Twiddled, []<class T>(FftKernel<T>& k) { k.root = NarrowRoot<T, F16>; }),
      Fault("fault.twiddles-in-bf16", Twiddled, []<class T>(FftKernel<T>& k) { k.root = NarrowRoot<T, BF16>; }),
      Fault("fault.twiddles-in-f32", TwiddledWide, []<class T>(FftKernel<T>& k) { k.root = NarrowRoot<T, float>; }),
      Fault("fault.twiddles-by-recurrence", TwiddledNarrow,
            []<class T>(FftKernel<T>& k) { k.root = RootByRecurrence<T>; }),
      Fault("fault.twiddles-of-18-bits", TwiddledNarrow, []<class T>(FftKernel<T>& k) { k.root = RootOfBits<T, 18>; }),
      Fault("fault.twiddles-of-f32-angles", TwiddledNarrow,
            []<class T>(FftKernel<T>& k) { k.root = RootOfF32Angle<T>; }),
      Fault("fault.twiddles-of-f16-angles", Twiddled, []<class T>(FftKernel<T>& k) { k.root = RootOfF16Angle<T>; }),
      FftEntry("fault.last-twiddle-repeated", FftContract, PowersOfTwo,
               []<class T>(std::type_identity<T>) {
                 return FftKernel<T>{.transform = StockhamTransform<T>, .root = LastRootRepeated<T>};
               }),
      Fault("fault.products-in-tf32", Twiddled, []<class T>(FftKernel<T>& k) { k.product = TF32Product<T>; }),
      Fault("fault.product-half-complex", Twiddled, []<class T>(FftKernel<T>& k) { k.product = HalfProduct<T>; }),
      Fault("fault.stages-stored-in-f16", Smooth, []<class T>(FftKernel<T>& k) { k.stored = Rounded<T, F16>; }),
      Fault("fault.stages-stored-in-bf16", Smooth, []<class T>(FftKernel<T>& k) { k.stored = Rounded<T, BF16>; }),
      FftEntry("fault.bluestein-padding-short", BluesteinClass, Convolved,
               []<class T>(std::type_identity<T>) {
                 return FftKernel<T>{.transform = BluesteinTransform<T>, .padded = LengthNotDoubled};
               }),
      FftEntry("fault.bluestein-chirp-in-f16", BluesteinClass, SeveralPoints,
               []<class T>(std::type_identity<T>) {
                 return FftKernel<T>{.transform = BluesteinTransform<T>, .root = NarrowRoot<T, F16>};
               }),
      FftEntry("fault.bluestein-chirp-of-18-bits", BluesteinClass, SeveralPointsNarrow,
               []<class T>(std::type_identity<T>) {
                 return FftKernel<T>{.transform = BluesteinTransform<T>, .root = RootOfBits<T, 18>};
               }),
      FftEntry("fault.bluestein-chirp-of-20-bits", BluesteinClass, SeveralPointsNarrow,
               []<class T>(std::type_identity<T>) {
                 return FftKernel<T>{.transform = BluesteinTransform<T>, .root = RootOfBits<T, 20>};
               }),
  };
}

std::vector<Entry> PlaceFaults() {
  return {
      Fault("fault.wrong-sign", Twiddled, [](auto& k) { k.wrong_sign = true; }),
      Fault("fault.bit-reversal-swaps-two", EvenComplex, []<class T>(FftKernel<T>& k) { k.finish = SwapTwo<T>; }),
      Fault("fault.last-butterfly-adds-twice", EvenComplex,
            []<class T>(FftKernel<T>& k) { k.finish = SumForDifference<T>; }),
      Fault("fault.last-result-negated", Complex, []<class T>(FftKernel<T>& k) { k.finish = NegateLast<T>; }),
      Fault("fault.results-reversed", Complex, []<class T>(FftKernel<T>& k) { k.finish = Reverse<T>; }),
      Fault("fault.results-rotated", Complex, []<class T>(FftKernel<T>& k) { k.finish = Rotate<T>; }),
      Fault("fault.nyquist-dropped", EvenReal, []<class T>(FftKernel<T>& k) { k.half = LastBinZero<T>; }),
      Fault("fault.last-bin-repeated", Real, []<class T>(FftKernel<T>& k) { k.half = LastBinRepeated<T>; }),
      Fault("fault.half-spectrum-conjugated", Real, []<class T>(FftKernel<T>& k) { k.half = Conjugated<T>; }),
      Fault("fault.half-spectrum-doubled", Real, []<class T>(FftKernel<T>& k) { k.half = Doubled<T>; }),
      Fault("fault.packed-reals-untangled-wrongly", EvenReal,
            [](auto& k) { k.packs_reals = k.untangles_wrongly = true; }),
      Fault("fault.scale-missing", Scaled, []<class T>(FftKernel<T>& k) { k.scale = NoScale<T>; }),
      Fault("fault.scale-twice", Scaled, []<class T>(FftKernel<T>& k) { k.scale = ScaleTwice<T>; }),
      Fault("fault.scale-counts-batch", ScaledBatch, []<class T>(FftKernel<T>& k) { k.scale = ScaleOfBatch<T>; }),
      Fault("fault.scale-of-last-axis", ScaledAxes, []<class T>(FftKernel<T>& k) { k.scale = ScaleOfLastAxis<T>; }),
      Fault("fault.scale-in-bf16", ScaledByNoPower, []<class T>(FftKernel<T>& k) { k.scale = ScaleInBF16<T>; }),
      Fault("fault.batch-stride-one-short", Batched, [](auto& k) { k.batch_step_short = 1; }),
      // Right but where one row is not finite, or far larger than the other: each row is a transform of its own.
      Fault("fault.real-rows-in-pairs", RealRows, [](auto& k) { k.pairs_rows = true; }),
      Fault("fault.first-axis-left-out", SeveralAxes, [](auto& k) { k.axes_left_out = 1; }),
      OfPlan<CoarserFromTheThirdCall>("fault.coarser-from-the-third-call", TwiddledNarrow),
      OfPlan<LastOutputUnwritten>("fault.last-element-unwritten", Smooth),
      OfPlan<LastBatchUnwritten>("fault.last-batch-unwritten", Batched),
  };
}

}  // namespace fft_faults

std::vector<Entry> FftFaults() {
  using namespace fft_faults;
  std::vector<Entry> all = ArithmeticFaults();
  const std::vector<Entry> others = PlaceFaults();
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace corpus
