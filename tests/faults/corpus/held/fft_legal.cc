// SPDX-License-Identifier: Apache-2.0
// Correct transforms: nested radices, both decimations, four steps, coprime factors, Rader's convolution.
#include "tests/faults/corpus/held/fft_held.h"

namespace corpus {
namespace {

template <class T>
Point<T> FmaProduct(Point<T> a, Point<T> b) {
  return {std::fma(a.re, b.re, -(a.im * b.im)), std::fma(a.re, b.im, a.im * b.re)};
}

std::string Smooth(Description op) {
  return FftWhen(op, AreSmooth, "this needs lengths without prime factors above 31");
}
std::string SmoothReals(Description op) {
  return FftWhen(
      op, [](const auto& s) { return AreSmooth(s) && s.kind != FftKind::kC2C && s.n.back() % 2 == 0; },
      "this packs real lines of even length without prime factors above 31");
}
std::string PowersOfTwo(Description op) {
  return FftWhen(op, ArePowersOfTwo, "this needs lengths that are powers of two");
}
// One less has small factors.
std::string Primes(Description op) {
  return FftWhen(
      op,
      [](const auto& s) {
        return s.n.size() == 1 && s.n[0] >= 5 && SmallestFactor(s.n[0]) == s.n[0] && LargestFactor(s.n[0] - 1) <= 31;
      },
      "this needs one axis of a prime length, and prime factors up to 31 in one less");
}
// No contract names Rader's convolution: it is one more of those that transforms compute.
std::string ConvolutionClass(Description op) {
  return FftClass(op, "bluestein");
}

template <class Make>
Entry Legal(const char* name, TextOf why_not, Make make) {
  return FftEntry(name, FftContract, why_not, make);
}
template <int64_t (*kSplit)(int64_t), bool kInFrequency>
Entry TwoFactors(const char* name, bool fused = false) {
  return Legal(name, Smooth, [fused]<class T>(std::type_identity<T>) {
    FftKernel<T> kernel{.transform = TwoFactorTransform<T, kSplit, kInFrequency>};
    if (fused) kernel.product = FmaProduct<T>;
    return kernel;
  });
}

}  // namespace

std::vector<Entry> FftHeldLegal() {
  return {
      TwoFactors<NearRoot, false>("legal.four-step"),
      TwoFactors<NearRoot, true>("legal.four-step-in-frequency-fma", true),
      TwoFactors<FirstOf<8, 4>, false>("legal.radix-8-nested"),
      TwoFactors<FirstOf<16, 8, 4>, false>("legal.radix-16-nested-fma", true),
      TwoFactors<FirstOf<32>, true>("legal.radix-32-in-frequency"),
      TwoFactors<SmallestFactor, true>("legal.radix-2-in-frequency"),
      TwoFactors<FourOrSmallestFactor, true>("legal.radix-4-in-frequency-fma", true),
      TwoFactors<FirstOf<5, 3, 7>, false>("legal.odd-radices-first"),
      TwoFactors<LargestFactor, true>("legal.largest-radix-first-in-frequency"),
      Legal("legal.prime-factor", Smooth,
            []<class T>(std::type_identity<T>) { return FftKernel<T>{.transform = PrimeFactorTransform<T>}; }),
      Legal("legal.prime-factor-fma", Smooth,
            []<class T>(std::type_identity<T>) {
              return FftKernel<T>{.transform = PrimeFactorTransform<T>, .product = FmaProduct<T>};
            }),
      Legal("legal.stockham-2-fma", PowersOfTwo,
            []<class T>(std::type_identity<T>) {
              return FftKernel<T>{.transform = StockhamTransform<T>, .product = FmaProduct<T>};
            }),
      Legal("legal.reals-packed-four-step", SmoothReals,
            []<class T>(std::type_identity<T>) {
              return FftKernel<T>{.transform = TwoFactorTransform<T, NearRoot, false>, .packs_reals = true};
            }),
      FftEntry("legal.rader", ConvolutionClass, Primes,
               []<class T>(std::type_identity<T>) { return FftKernel<T>{.transform = RaderTransform<T>}; }),
  };
}

}  // namespace corpus
