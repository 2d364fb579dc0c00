// SPDX-License-Identifier: Apache-2.0
// The fresh part: bugs and schedules that the other parts do not have, a file for each operator and family. What they
// share with the held-back part are its words for places, sums and roundings.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "tests/faults/corpus/entry.h"
#include "tests/faults/corpus/held/summation.h"
#include "tests/faults/corpus/rounding.h"

namespace corpus {

std::vector<Entry> MatmulFreshTerms();
std::vector<Entry> MatmulFreshBits();
std::vector<Entry> MatmulFreshPlaces();
std::vector<Entry> ConvFreshReads();
std::vector<Entry> ConvFreshSums();
std::vector<Entry> AttentionFreshTiles();
std::vector<Entry> AttentionFreshIndices();
std::vector<Entry> AttentionFreshScores();
std::vector<Entry> FftFreshTwiddles();
std::vector<Entry> FftFreshResults();
std::vector<Entry> ReduceFreshSums();
std::vector<Entry> ReduceFreshKinds();
std::vector<Entry> SoftmaxFreshSums();
std::vector<Entry> SoftmaxFreshFunctions();
std::vector<Entry> FreshProducts();    // correct matmul, conv and reduce
std::vector<Entry> FreshNetworks();    // correct softmax and attention
std::vector<Entry> FreshTransforms();  // correct fft

// Result of a simulated race: another answer every time, from the clock.
inline bool TossesUp() {
  const auto now = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return (now * 0x9E3779B97F4A7C15u) >> 63 != 0;
}

// Sums of n terms in which `weight(i)` says how often term i counts: 0, 1, 2.
template <class T, class Weight>
T WeightedDot(const T* a, const T* b, int64_t n, Weight weight) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int times = weight(i); times > 0; --times) sum += a[i] * b[i];
  }
  return sum;
}

// `carry(i, sum)` is what the accumulator holds after term i.
template <class T, class Carry>
T CarriedDot(const T* a, const T* b, int64_t n, Carry carry) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum = carry(i, sum + a[i] * b[i]);
  return sum;
}

// `read(i, x)` is what the kernel takes for an operand of term i.
template <class T, class Read>
T ReadDot(const T* a, const T* b, int64_t n, Read read) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += read(i, a[i]) * read(i, b[i]);
  return sum;
}

// A sum as an integer of so many bits holds it.
template <class T>
T WrappedTo(int bits, T sum) {
  const T range = std::scalbn(T{1}, bits);
  return sum - range * std::floor(sum / range + T{1} / 2);
}

}  // namespace corpus
