// SPDX-License-Identifier: Apache-2.0
// Transforms with wrong or coarse twiddles, constants of small radices, products and stages.
#include "tests/faults/corpus/held/fft_held.h"

namespace corpus {
namespace {

using Spec = const FftSpec&;

bool IsPowerOfTwo(int64_t n) {
  return (n & (n - 1)) == 0;
}
bool HasFactor(const FftSpec& s, int64_t factor) {
  return std::ranges::any_of(s.n, [=](int64_t n) { return n % factor == 0; });
}
// Length of the longest complex line that is transformed.
int64_t Longest(const FftSpec& s) {
  return *std::ranges::max_element(s.n);
}

template <class T>
Point<T> RoundedPoint(const Rounding& r, Point<T> p) {
  return {Rounded(r, p.re), Rounded(r, p.im)};
}

// cos and -sin of 2 pi j / n with another pi.
template <class T>
Point<T> RootWithPi(long double pi, int64_t j, int64_t n) {
  const long double angle = 2 * pi * static_cast<long double>(j % n) / static_cast<long double>(n);
  return {static_cast<T>(std::cos(angle)), static_cast<T>(-std::sin(angle))};
}

// From a table of `size` entries around the circle; between them the nearest, or a line.
template <class T>
Point<T> RootOfTable(int64_t size, bool interpolates, int64_t j, int64_t n) {
  if (size % n == 0) return UnitRoot<T>(j, n);
  const long double place =
      static_cast<long double>(j % n) * static_cast<long double>(size) / static_cast<long double>(n);
  const auto first = static_cast<int64_t>(interpolates ? std::floor(place) : std::nearbyint(place));
  if (!interpolates) return UnitRoot<T>(first, size);
  const T part = static_cast<T>(place - static_cast<long double>(first));
  return UnitRoot<T>(first, size) * (1 - part) + UnitRoot<T>(first + 1, size) * part;
}

// Each root is made out of the one before, from an exact one every `step`.
template <class T>
Point<T> RootBySteps(int64_t step, int64_t j, int64_t n) {
  const auto in_f32 = [](Point<T> p) { return RoundedPoint(Nearest(kSingle), p); };
  Point<T> root = in_f32(UnitRoot<T>(j % n / step * step, n));
  for (int64_t i = 0; i < j % n % step; ++i) root = in_f32(Product(root, in_f32(UnitRoot<T>(1, n))));
  return root;
}

// The cosine out of the sine, in f32: what is near 1 cancels.
template <class T>
Point<T> RootByPythagoras(int64_t j, int64_t n) {
  const Point<T> exact = UnitRoot<T>(j, n);
  const T sine = Rounded(Nearest(kSingle), exact.im);
  const T square = Rounded(Nearest(kSingle), 1 - Rounded(Nearest(kSingle), sine * sine));
  return {std::copysign(std::sqrt(square), exact.re), sine};
}

// The constants of a small radix with a change, all other roots as they are.
template <class T, class Change>
auto RadixConstants(int64_t radix, Change change) {
  return [=](int64_t j, int64_t n) { return n == radix ? change(UnitRoot<T>(j, n), j % n) : UnitRoot<T>(j, n); };
}

constexpr auto kSmooth = [](Spec s) { return AreSmooth(s) && Longest(s) >= 5; };
constexpr auto kNarrow = [](Spec s) { return AreSmooth(s) && Longest(s) >= 5 && !s.wide; };
constexpr auto kWide = [](Spec s) { return AreSmooth(s) && Longest(s) >= 5 && s.wide; };
constexpr auto kLonger = [](Spec s) { return AreSmooth(s) && Longest(s) > 256; };
constexpr auto kVeryLong = [](Spec s) { return AreSmooth(s) && Longest(s) > 2048; };
template <int64_t kFactor>
constexpr auto kWithFactor = [](Spec s) { return AreSmooth(s) && HasFactor(s, kFactor); };
constexpr auto kAny11 = [](Spec s) {
  return AreSmooth(s) && std::ranges::any_of(s.n, [](int64_t n) { return LargestFactor(n) >= 11; });
};
constexpr auto kOddLengths = [](Spec s) {
  return AreSmooth(s) &&
         std::ranges::any_of(s.n, [](int64_t n) { return n > 1 && n % 2 == 1 && SmallestFactor(n) != n; });
};
constexpr auto kPowersOfTwo = [](Spec s) { return ArePowersOfTwo(s) && s.n.back() >= 8; };
constexpr auto kConvolved = [](Spec s) { return s.n.size() == 1 && s.n[0] > 4 && !IsPowerOfTwo(s.n[0]); };

template <class T>
void RootFaults(FftEdits<T>& of) {
  of("fault.twiddles-of-next-length", kSmooth).root = [](int64_t j, int64_t n) {
    return n < 5 ? UnitRoot<T>(j, n) : UnitRoot<T>(j % n, n + 1);
  };
  of("fault.twiddles-of-first-stage-one-ahead", kSmooth).root = [](int64_t j, int64_t n) {
    return UnitRoot<T>(n >= 5 && j % n == 1 ? 2 : j, n);
  };
  of("fault.pi-of-5-digits", kSmooth).root = [](int64_t j, int64_t n) { return RootWithPi<T>(3.1416L, j, n); };
  of("fault.pi-of-7-digits", kSmooth).root = [](int64_t j, int64_t n) { return RootWithPi<T>(3.141593L, j, n); };
  of("fault.pi-of-f32", kWide).root = [](int64_t j, int64_t n) { return RootWithPi<T>(3.14159274L, j, n); };
  of("fault.twiddles-of-nearest-in-table-of-256", kLonger).root = [](int64_t j, int64_t n) {
    return RootOfTable<T>(256, false, j, n);
  };
  of("fault.twiddles-interpolated-in-table-of-256", kLonger).root = [](int64_t j, int64_t n) {
    return RootOfTable<T>(256, true, j, n);
  };
  of("fault.twiddles-by-recurrence-of-16", kNarrow).root = [](int64_t j, int64_t n) {
    return RootBySteps<T>(16, j, n);
  };
  of("fault.cosines-out-of-sines", kNarrow).root = RootByPythagoras<T>;
  of("fault.twiddle-index-in-8-bits", kLonger).root = [](int64_t j, int64_t n) { return UnitRoot<T>(j % 256, n); };
  of("fault.twiddle-index-in-f16", kVeryLong).root = [](int64_t j, int64_t n) {
    return UnitRoot<T>(static_cast<int64_t>(Rounded(Nearest(kHalf), static_cast<double>(j % n))), n);
  };
  of("fault.twiddles-of-last-eighth-conjugated", kSmooth).root = [](int64_t j, int64_t n) {
    return 8 * (j % n) > 7 * n ? UnitRoot<T>(j, n).Conjugate() : UnitRoot<T>(j, n);
  };
  of("fault.sine-of-first-eighth-in-f16", kSmooth).root = [](int64_t j, int64_t n) {
    const Point<T> root = UnitRoot<T>(j, n);
    return 8 * (j % n) < n ? Point<T>{root.re, Rounded(Nearest(kHalf), root.im)} : root;
  };
  of("fault.sine-by-taylor-of-degree-5", kSmooth).root = [](int64_t j, int64_t n) {
    const Point<T> root = UnitRoot<T>(j, n);
    if (4 * (j % n) > n) return root;
    const T x = static_cast<T>(2 * std::numbers::pi_v<long double>) * static_cast<T>(j % n) / static_cast<T>(n);
    return Point<T>{root.re, -(x - x * x * x / 6 + x * x * x * x * x / 120)};
  };
  of("fault.last-twiddle-is-one", kSmooth).root = [](int64_t j, int64_t n) {
    return UnitRoot<T>(n >= 5 && j % n == n - 1 ? 0 : j, n);
  };
}

template <class T>
void RadixFaults(FftEdits<T>& of) {
  of("fault.radix-3-constant-of-4-digits", kWithFactor<3>).root = RadixConstants<T>(3, [](Point<T> root, int64_t) {
    return Point<T>{root.re, root.im < 0 ? static_cast<T>(-0.866L) : root.im > 0 ? static_cast<T>(0.866L) : 0};
  });
  of("fault.radix-3-sign-of-sine", kWithFactor<3>).root =
      RadixConstants<T>(3, [](Point<T> root, int64_t) { return root.Conjugate(); });
  of("fault.radix-5-constants-swapped", kWithFactor<5>).root = RadixConstants<T>(5, [](Point<T> root, int64_t j) {
    const Point<T> other = UnitRoot<T>(2 * j, 5);
    return Point<T>{other.re, root.im};
  });
  of("fault.radix-5-cosine-of-5-digits", kWithFactor<5>).root = RadixConstants<T>(5, [](Point<T> root, int64_t) {
    return Point<T>{std::round(root.re * 100000) / 100000, root.im};
  });
  of("fault.radix-7-sines-swapped", kWithFactor<7>).root = RadixConstants<T>(7, [](Point<T> root, int64_t j) {
    return Point<T>{root.re, UnitRoot<T>(2 * j, 7).im};
  });
  of("fault.primes-from-11-lose-last-term", kAny11).root = [](int64_t j, int64_t n) {
    return n >= 11 && SmallestFactor(n) == n && j % n == n - 1 ? Point<T>{0, 0} : UnitRoot<T>(j, n);
  };
  of("fault.odd-lengths-with-twiddles-of-even", kOddLengths).root = [](int64_t j, int64_t n) {
    return n % 2 == 1 && SmallestFactor(n) != n ? UnitRoot<T>(j % n, n - 1) : UnitRoot<T>(j, n);
  };
}

// A rounding of twiddles, of products, or of each stage's results.
enum class Step { kRoot, kProduct, kStored };

struct StepBug {
  const char* name;
  Step step;
  Rounding rounding;
};

constexpr StepBug kStepBugs[] = {
    {"fault.twiddles-of-12-bits", Step::kRoot, NearestBits(12)},
    {"fault.twiddles-of-16-bits", Step::kRoot, NearestBits(16)},
    {"fault.twiddles-truncated-to-20-bits", Step::kRoot, TruncatedBits(20)},
    {"fault.twiddles-in-tf32", Step::kRoot, Nearest(kTensor)},
    {"fault.products-of-14-bits", Step::kProduct, NearestBits(14)},
    {"fault.products-truncated-to-19-bits", Step::kProduct, TruncatedBits(19)},
    {"fault.products-rounded-down-to-18-bits", Step::kProduct, {Rounding::How::kDown, {18, -126, 127}}},
    {"fault.stages-in-tf32", Step::kStored, Nearest(kTensor)},
    {"fault.stages-of-17-bits", Step::kStored, NearestBits(17)},
    {"fault.stages-truncated-to-20-bits", Step::kStored, TruncatedBits(20)},
    {"fault.stages-rounded-stochastically-to-18-bits", Step::kStored, {Rounding::How::kStochastic, {18, -126, 127}}},
    {"fault.stages-flushed-below-f16-range", Step::kStored, {Rounding::How::kNearest, {53, -4, 1023}, true}},
    {"fault.stages-saturate-at-16", Step::kStored, {Rounding::How::kNearest, {53, -1022, 3}, false, true}},
};

template <class T>
void Steps(FftEdits<T>& of) {
  for (const StepBug& bug : kStepBugs) {
    FftKernel<T>& kernel = of(bug.name, kSmooth);
    const Rounding r = bug.rounding;
    if (bug.step == Step::kRoot) kernel.root = [r](int64_t j, int64_t n) { return RoundedPoint(r, UnitRoot<T>(j, n)); };
    if (bug.step == Step::kProduct) {
      kernel.product = [r](Point<T> a, Point<T> b) { return RoundedPoint(r, Product(a, b)); };
    }
    if (bug.step == Step::kStored) kernel.stored = [r](Point<T> p) { return RoundedPoint(r, p); };
  }
}

template <class T>
void OtherFaults(FftEdits<T>& of) {
  of("fault.product-sign-of-imaginary-part", kSmooth).product = [](Point<T> a, Point<T> b) {
    return Point<T>{a.re * b.re - a.im * b.im, a.re * b.im - a.im * b.re};
  };
  of("fault.product-fused-with-wrong-operand", kSmooth).product = [](Point<T> a, Point<T> b) {
    return Point<T>{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.im};
  };
  const auto stockham = [&of](const char* name, auto root) {
    of(name, kPowersOfTwo) = {.transform = StockhamTransform<T>, .root = root};
  };
  stockham("fault.stockham-twiddle-of-last-stage-missing", [](int64_t j, int64_t n) {
    return n == 4 ? Point<T>{1, 0} : UnitRoot<T>(j, n);
  });
  stockham("fault.stockham-twiddles-of-half-length",
           [](int64_t j, int64_t n) { return UnitRoot<T>(n >= 8 ? j / 2 * 2 : j, n); });
  const auto bluestein = [&of](const char* name, auto root) {
    of(name, kConvolved, FftBluesteinContract) = {.transform = BluesteinTransform<T>, .root = root};
  };
  bluestein("fault.bluestein-chirp-index-modulo-n",
            [](int64_t j, int64_t n) { return UnitRoot<T>(IsPowerOfTwo(n) ? j : j % (n / 2), n); });
  bluestein("fault.bluestein-chirp-of-12-bits", [](int64_t j, int64_t n) {
    const Point<T> root = UnitRoot<T>(j, n);
    return IsPowerOfTwo(n) ? root : RoundedPoint(NearestBits(12), root);
  });
  bluestein("fault.bluestein-chirp-of-next-length",
            [](int64_t j, int64_t n) { return UnitRoot<T>(j, IsPowerOfTwo(n) ? n : n + 1); });
  bluestein("fault.bluestein-convolution-in-tf32", UnitRoot<T>);
  of.Last().stored = [](Point<T> p) { return RoundedPoint(Nearest(kTensor), p); };
}

}  // namespace

std::vector<Entry> FftHeldTwiddles() {
  return FftRows([](auto& of) { RootFaults(of), RadixFaults(of), OtherFaults(of), Steps(of); });
}

}  // namespace corpus
