// SPDX-License-Identifier: Apache-2.0
// Correct transforms: nested radices, both decimations, four steps, coprime factors, Rader's convolution.
#include "tests/faults/corpus/held/fft_held.h"

namespace corpus {
namespace {

using Spec = const FftSpec&;

constexpr auto kSmoothReals = [](Spec s) { return AreSmooth(s) && s.kind != FftKind::kC2C && s.n.back() % 2 == 0; };
// One less has small factors.
constexpr auto kPrimes = [](Spec s) {
  return s.n.size() == 1 && s.n[0] >= 5 && SmallestFactor(s.n[0]) == s.n[0] && LargestFactor(s.n[0] - 1) <= 31;
};

template <class T>
void Legal(FftEdits<T>& of) {
  const auto fused = FmaProduct<T>;
  of("legal.four-step", AreSmooth).transform = TwoFactorTransform<T, NearRoot, false>;
  of("legal.four-step-in-frequency-fma", AreSmooth) = {.transform = TwoFactorTransform<T, NearRoot, true>,
                                                       .product = fused};
  of("legal.radix-8-nested", AreSmooth).transform = TwoFactorTransform<T, FirstOf<8, 4>, false>;
  of("legal.radix-16-nested-fma", AreSmooth) = {.transform = TwoFactorTransform<T, FirstOf<16, 8, 4>, false>,
                                                .product = fused};
  of("legal.radix-32-in-frequency", AreSmooth).transform = TwoFactorTransform<T, FirstOf<32>, true>;
  of("legal.radix-2-in-frequency", AreSmooth).transform = TwoFactorTransform<T, SmallestFactor, true>;
  of("legal.radix-4-in-frequency-fma", AreSmooth) = {.transform = TwoFactorTransform<T, FourOrSmallestFactor, true>,
                                                     .product = fused};
  of("legal.odd-radices-first", AreSmooth).transform = TwoFactorTransform<T, FirstOf<5, 3, 7>, false>;
  of("legal.largest-radix-first-in-frequency", AreSmooth).transform = TwoFactorTransform<T, LargestFactor, true>;
  of("legal.prime-factor", AreSmooth).transform = PrimeFactorTransform<T>;
  of("legal.prime-factor-fma", AreSmooth) = {.transform = PrimeFactorTransform<T>, .product = fused};
  of("legal.stockham-2-fma", ArePowersOfTwo) = {.transform = StockhamTransform<T>, .product = fused};
  of("legal.reals-packed-four-step", kSmoothReals) = {.transform = TwoFactorTransform<T, NearRoot, false>,
                                                      .packs_reals = true};
  // No contract names Rader's convolution: it is one more of those that transforms compute.
  of("legal.rader", kPrimes, FftBluesteinContract).transform = RaderTransform<T>;
}

}  // namespace

std::vector<Entry> FftHeldLegal() {
  return FftRows([](auto& of) { Legal(of); });
}

}  // namespace corpus
