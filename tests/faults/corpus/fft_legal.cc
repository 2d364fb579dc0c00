// SPDX-License-Identifier: Apache-2.0
// Correct transforms: the common factorisations, Bluestein's convolution, the defining sum, real lines whole and
// packed.
#include "tests/faults/corpus/fft_plan.h"

namespace corpus {
namespace fft_legal {

template <class T>
Point<T> FmaProduct(Point<T> a, Point<T> b) {
  return {std::fma(a.re, b.re, -(a.im * b.im)), std::fma(a.re, b.im, a.im * b.re)};
}

std::string PowersOfTwo(Description op) {
  return FftWhen(op, ArePowersOfTwo, "this needs lengths that are powers of two");
}
std::string Smooth(Description op) {
  return FftWhen(op, AreSmooth, "this needs lengths without prime factors above 31");
}
std::string SmoothReals(Description op) {
  return FftWhen(
      op, [](const auto& s) { return AreSmooth(s) && s.kind != FftKind::kC2C && s.n.back() % 2 == 0; },
      "this packs real lines of even length without prime factors above 31");
}
std::string BluesteinClass(Description op) {
  return FftClass(op, "bluestein");
}
std::string DirectClass(Description op) {
  return FftClass(op, "direct");
}
std::string Short(Description op) {
  return FftWhen(
      op, [](const auto& s) { return s.n.size() == 1 && s.n[0] <= 4096; },
      "the defining sum is for one axis of at most 4096");
}

}  // namespace fft_legal

std::vector<Entry> FftLegalEntries() {
  using namespace fft_legal;
  return {
      FftEntry("legal.stockham-2", FftContract, PowersOfTwo,
               []<class T>(std::type_identity<T>) { return FftKernel<T>{.transform = StockhamTransform<T>}; }),
      FftEntry("legal.split-radix", FftContract, PowersOfTwo,
               []<class T>(std::type_identity<T>) { return FftKernel<T>{.transform = SplitRadixTransform<T>}; }),
      FftEntry(
          "legal.mixed-radix", FftContract, Smooth,
          []<class T>(std::type_identity<T>) { return FftKernel<T>{.transform = RadixTransform<T, SmallestFactor>}; }),
      FftEntry("legal.mixed-radix-4", FftContract, Smooth,
               []<class T>(std::type_identity<T>) {
                 return FftKernel<T>{.transform = RadixTransform<T, FourOrSmallestFactor>};
               }),
      FftEntry("legal.mixed-radix-largest-first-fma", FftContract, Smooth,
               []<class T>(std::type_identity<T>) {
                 return FftKernel<T>{.transform = RadixTransform<T, LargestFactor>, .product = FmaProduct<T>};
               }),
      FftEntry("legal.reals-packed", FftContract, SmoothReals,
               []<class T>(std::type_identity<T>) {
                 return FftKernel<T>{.transform = RadixTransform<T, SmallestFactor>, .packs_reals = true};
               }),
      FftEntry("legal.bluestein", BluesteinClass, FftWhyNot,
               []<class T>(std::type_identity<T>) { return FftKernel<T>{.transform = BluesteinTransform<T>}; }),
      FftEntry("legal.bluestein-fma", BluesteinClass, FftWhyNot,
               []<class T>(std::type_identity<T>) {
                 return FftKernel<T>{.transform = BluesteinTransform<T>, .product = FmaProduct<T>};
               }),
      FftEntry("legal.direct", DirectClass, Short,
               []<class T>(std::type_identity<T>) { return FftKernel<T>{.transform = DirectTransform<T>}; }),
  };
}

}  // namespace corpus
