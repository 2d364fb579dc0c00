// SPDX-License-Identifier: Apache-2.0
// Correct transforms: more nestings of radices.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/fft_held.h"

namespace corpus {
namespace {

template <class T>
void Legal(FftEdits<T>& of) {
  of("legal.radix-6-and-10-nested", AreSmooth).transform = TwoFactorTransform<T, FirstOf<6, 10>, false>;
  of("legal.radix-12-and-15-in-frequency", AreSmooth).transform = TwoFactorTransform<T, FirstOf<12, 15, 8>, true>;
  of("legal.radix-64-nested", AreSmooth).transform = TwoFactorTransform<T, FirstOf<64, 25, 9>, false>;
  of("legal.reals-packed-in-frequency", AreSmooth) = {.transform = TwoFactorTransform<T, FirstOf<8, 3, 5>, true>,
                                                      .packs_reals = true};
  of("legal.odd-radices-first-in-frequency", AreSmooth).transform = TwoFactorTransform<T, FirstOf<7, 5, 3>, true>;
}

}  // namespace

std::vector<Entry> FreshTransforms() {
  return FftRows([](auto& of) { Legal(of); });
}

}  // namespace corpus
