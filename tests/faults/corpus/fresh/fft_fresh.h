// SPDX-License-Identifier: Apache-2.0
// A transform with one step exchanged, where its lengths have a place for the bug.
#pragma once

#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/fft_held.h"

namespace corpus {

inline int64_t Longest(const FftSpec& s) {
  return *std::ranges::max_element(s.n);
}
template <int64_t kLeast>
bool IsSmooth(const FftSpec& s) {
  return AreSmooth(s) && Longest(s) >= kLeast;
}
// `strikes(spec)`: where the bug shows; `set(kernel)` puts it in.
template <template <class> class Plan = FftPlan, class Strikes, class Set>
Entry FftFault(const char* name, Strikes strikes, Set set) {
  Entry entry = FftEntryOf<Plan>(name, FftContract, nullptr, [set]<class T>(std::type_identity<T>) {
    FftKernel<T> kernel{.transform = RadixTransform<T, SmallestFactor>};
    set(kernel);
    return kernel;
  });
  entry.why_not = [strikes](Description op) {
    return FftWhen(op, strikes, "such a transform has no place for the bug");
  };
  return entry;
}
// In multiples of 2^-bits.
template <class T>
Point<T> InFixedPoint(int bits, Point<T> p) {
  const auto round = [bits](T x) { return std::scalbn(std::nearbyint(std::scalbn(x, bits)), -bits); };
  return {round(p.re), round(p.im)};
}

}  // namespace corpus
