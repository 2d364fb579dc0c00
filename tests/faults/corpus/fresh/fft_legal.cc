// SPDX-License-Identifier: Apache-2.0
// Correct transforms: more nestings of radices.
#include "tests/faults/corpus/fresh/fft_fresh.h"

namespace corpus {
namespace {

std::string Smooth(Description op) {
  return FftWhen(op, AreSmooth, "this needs lengths without prime factors above 31");
}
template <int64_t (*kSplit)(int64_t), bool kInFrequency>
Entry Transform(const char* name, bool packs_reals = false) {
  return FftEntry(name, FftContract, Smooth, [packs_reals]<class T>(std::type_identity<T>) {
    return FftKernel<T>{.transform = TwoFactorTransform<T, kSplit, kInFrequency>, .packs_reals = packs_reals};
  });
}

}  // namespace

std::vector<Entry> FreshTransforms() {
  return {
      Transform<FirstOf<6, 10>, false>("legal.radix-6-and-10-nested"),
      Transform<FirstOf<12, 15, 8>, true>("legal.radix-12-and-15-in-frequency"),
      Transform<FirstOf<64, 25, 9>, false>("legal.radix-64-nested"),
      Transform<FirstOf<8, 3, 5>, true>("legal.reals-packed-in-frequency", true),
      Transform<FirstOf<7, 5, 3>, true>("legal.odd-radices-first-in-frequency"),
  };
}

}  // namespace corpus
