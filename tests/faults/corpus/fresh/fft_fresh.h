// SPDX-License-Identifier: Apache-2.0
// Words that faulty transforms share.
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
// In multiples of 2^-bits.
template <class T>
Point<T> InFixedPoint(int bits, Point<T> p) {
  const auto round = [bits](T x) { return std::scalbn(std::nearbyint(std::scalbn(x, bits)), -bits); };
  return {round(p.re), round(p.im)};
}

}  // namespace corpus
