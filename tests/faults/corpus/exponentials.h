// SPDX-License-Identifier: Apache-2.0
// Wrong exponentials of a shifted score and reciprocals of their sum, for softmax and attention alike.
#pragma once

#include <cmath>

#include "tests/faults/corpus/arithmetic.h"

namespace corpus {

template <class T>
T ExponentialToBF16(T x, T max) {
  return RoundedTo<plugin::BF16>(std::exp(x - max));
}

// Rounds to f32, so that results beyond its range are lost.
template <class T>
T ExponentialInF32Range(T x, T max) {
  return RoundedTo<float>(std::exp(x - max));
}

// A kernel written for exp2 that forgot log2 e.
template <class T>
T ExponentialOfTwo(T x, T max) {
  return std::exp2(x - max);
}

// log2 e with five digits.
template <class T>
T ExponentialOfFiveDigits(T x, T max) {
  return std::exp2((x - max) * static_cast<T>(1.4427L));
}

// Taylor's series up to r^5 / 5!, |r| <= ln(2) / 2, between powers of two: 2.4e-6 off at worst.
template <class T>
T ExponentialOfDegree5(T x, T max) {
  const T t = std::max<T>(x - max, T{-1000}), whole = std::rint(t * static_cast<T>(1.4426950408889634074L));
  const T r = (t - whole * static_cast<T>(0.693359375L)) - whole * static_cast<T>(-2.12194440054690583e-4L);
  T sum = 1;
  for (int k = 5; k > 0; --k) sum = 1 + sum * r / static_cast<T>(k);
  return std::ldexp(sum, static_cast<int>(whole));
}

// The argument is reduced by the high part of ln 2 alone: the low one, 2e-4, is lost for each power of two.
template <class T>
T ExponentialOfShortLn2(T x, T max) {
  const T t = x - max;
  if (!std::isfinite(t)) return std::exp(t);
  const T whole = std::max(std::rint(t * static_cast<T>(1.4426950408889634074L)), T{-16000});
  return std::ldexp(std::exp(t - whole * static_cast<T>(0.693359375L)), static_cast<int>(whole));
}

template <int kBits, class T>
T ReciprocalOfBits(T x) {
  return RoundedToBits(kBits, T{1} / x);
}

// The precision of processors' reciprocal estimates.
template <class T>
T ReciprocalOf12Bits(T x) {
  return ReciprocalOfBits<12>(x);
}

template <class T>
T ExponentialOf12Bits(T x, T max) {
  return RoundedToBits(12, std::exp(x - max));
}

// The reciprocal of a denominator that an epsilon keeps from being zero.
template <class T>
T ReciprocalWithEpsilon(T x) {
  return T{1} / (x + static_cast<T>(1e-6L));
}

}  // namespace corpus
