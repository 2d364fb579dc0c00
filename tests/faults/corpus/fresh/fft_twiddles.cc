// SPDX-License-Identifier: Apache-2.0
// Transforms with twiddles in fixed point, of the wrong sign or index, or with short constants.
#include "tests/faults/corpus/fresh/fft_fresh.h"

namespace corpus {
namespace {

using Spec = const FftSpec&;

template <int64_t kFactor>
bool HasFactor(Spec s) {
  return AreSmooth(s) && std::ranges::any_of(s.n, [](int64_t n) { return n % kFactor == 0; });
}
bool IsMixed(Spec s) {
  return AreSmooth(s) && std::ranges::any_of(s.n, [](int64_t n) { return n % 3 == 0 && n > 3; });
}
bool HasEighths(Spec s) {
  return AreSmooth(s) && std::ranges::any_of(s.n, [](int64_t n) { return n % 8 == 0; });
}

// `change(root, j, n)` is what stands in the table.
template <class T>
void Roots(FftEdits<T>& of) {
  const auto roots = [&of](const char* name, auto strikes, auto change) {
    of(name, strikes).root = [change](int64_t j, int64_t n) { return change(UnitRoot<T>(j, n), j % n, n); };
  };
  roots("fault.twiddles-in-fixed-point-of-15-bits", IsSmooth<5>,
        [](Point<T> root, int64_t, int64_t) { return InFixedPoint(15, root); });
  roots("fault.twiddles-in-fixed-point-of-20-bits", IsSmooth<5>,
        [](Point<T> root, int64_t, int64_t) { return InFixedPoint(20, root); });
  roots("fault.twiddles-of-angles-in-tf32", IsSmooth<5>, [](Point<T>, int64_t j, int64_t n) {
    const T turn = static_cast<T>(j) / static_cast<T>(n) * static_cast<T>(2 * std::numbers::pi_v<long double>);
    const T angle = Rounded(Nearest(kTensor), turn);
    return Point<T>{std::cos(angle), -std::sin(angle)};
  });
  roots("fault.twiddles-of-mixed-radices-conjugated", IsMixed,
        [](Point<T> root, int64_t, int64_t n) { return n % 3 == 0 && n > 3 ? root.Conjugate() : root; });
  roots("fault.third-twiddles-one-back", IsSmooth<16>, [](Point<T> root, int64_t j, int64_t n) {
    return n >= 16 && j % 3 == 0 && j > 0 ? UnitRoot<T>(j - 1, n) : root;
  });
  roots("fault.root-of-half-of-3-digits", HasEighths, [](Point<T> root, int64_t j, int64_t n) {
    if (8 * j % n != 0 || 8 * j / n % 2 == 0) return root;
    constexpr T kRoot = static_cast<T>(0.707L);
    return Point<T>{std::copysign(kRoot, root.re), std::copysign(kRoot, root.im)};
  });
  roots("fault.radix-5-second-sine-negated", HasFactor<5>,
        [](Point<T> root, int64_t j, int64_t n) { return n == 5 && (j == 2 || j == 3) ? root.Conjugate() : root; });
  roots("fault.radix-7-constants-in-f16", HasFactor<7>, [](Point<T> root, int64_t, int64_t n) {
    return n == 7 ? Point<T>{Rounded(Nearest(kHalf), root.re), Rounded(Nearest(kHalf), root.im)} : root;
  });
  roots("fault.first-twiddle-is-1-in-long-lines", IsSmooth<32>, [](Point<T> root, int64_t j, int64_t n) {
    return n >= 32 && j == 1 ? Point<T>{1, 0} : root;
  });
  roots("fault.sines-of-second-quarter-in-bf16", IsSmooth<5>, [](Point<T> root, int64_t j, int64_t n) {
    const bool second = 4 * j > n && 2 * j < n;
    return second ? Point<T>{root.re, Rounded(Nearest(kBrain), root.im)} : root;
  });
}

}  // namespace

std::vector<Entry> FftFreshTwiddles() {
  return FftRows([](auto& of) { Roots(of); });
}

}  // namespace corpus
