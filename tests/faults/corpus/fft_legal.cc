// SPDX-License-Identifier: Apache-2.0
// Correct transforms: the common factorisations, Bluestein's convolution, the defining sum, real lines whole and
// packed.
#include "tests/faults/corpus/fft_plan.h"

namespace corpus {
namespace fft_legal {

using Spec = const FftSpec&;

constexpr auto kSmoothReals = [](Spec s) { return AreSmooth(s) && s.kind != FftKind::kC2C && s.n.back() % 2 == 0; };
constexpr auto kShort = [](Spec s) { return s.n.size() == 1 && s.n[0] <= 4096; };
std::string DirectClass(Description op) {
  return FftClass(op, "direct");
}

template <class T>
void Legal(FftEdits<T>& of) {
  of("legal.stockham-2", ArePowersOfTwo).transform = StockhamTransform<T>;
  of("legal.split-radix", ArePowersOfTwo).transform = SplitRadixTransform<T>;
  of("legal.mixed-radix", AreSmooth);
  of("legal.mixed-radix-4", AreSmooth).transform = RadixTransform<T, FourOrSmallestFactor>;
  of("legal.mixed-radix-largest-first-fma", AreSmooth) = {.transform = RadixTransform<T, LargestFactor>,
                                                          .product = FmaProduct<T>};
  of("legal.reals-packed", kSmoothReals).packs_reals = true;
  of("legal.bluestein", nullptr, FftBluesteinContract).transform = BluesteinTransform<T>;
  of("legal.bluestein-fma", nullptr, FftBluesteinContract) = {.transform = BluesteinTransform<T>,
                                                              .product = FmaProduct<T>};
  of("legal.direct", kShort, DirectClass).transform = DirectTransform<T>;
}

}  // namespace fft_legal

std::vector<Entry> FftLegalEntries() {
  return FftRows([](auto& of) { fft_legal::Legal(of); });
}

}  // namespace corpus
