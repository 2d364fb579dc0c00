// SPDX-License-Identifier: Apache-2.0
// More coarse functions: reductions of the argument that lose a part, tables, short polynomials.
#pragma once

#include <algorithm>
#include <cmath>

namespace corpus {

// exp by n ln 2 + r, where r is made with the high part of ln 2 alone: the low one, 2e-4, is lost n times.
template <class T>
T ExpWithShortLn2(T x) {
  if (!std::isfinite(x)) return std::exp(x);
  constexpr T kHigh = static_cast<T>(0.693359375L);
  const T n = std::nearbyint(x * static_cast<T>(1.4426950408889634074L));
  const T whole = std::max(n, T{-16000});
  return std::ldexp(std::exp(x - n * kHigh), static_cast<int>(whole));
}

// exp with a table of 2^(i/64) and a line between its entries.
template <class T>
T ExpByTable(T x) {
  if (!std::isfinite(x) || x < -80) return std::exp(x);
  const T place = x * static_cast<T>(64 * 1.4426950408889634074L), first = std::floor(place);
  const T low = std::exp2(first / 64), high = std::exp2((first + 1) / 64);
  return low + (high - low) * (place - first);
}

// exp of the argument in whole 256ths, rounded down: what a table without interpolation gives.
template <class T>
T ExpInSteps(T x) {
  return std::exp(std::floor(x * 256) / 256);
}

// 2^f as 1 + f (a + f b), exact at whole numbers and halves.
template <class T>
T ExpByParabola(T x) {
  if (!std::isfinite(x) || x < -80) return std::exp(x);
  const T y = x * static_cast<T>(1.4426950408889634074L), whole = std::floor(y), f = y - whole;
  const T b = static_cast<T>(6 - 4 * 1.4142135623730950488L), a = 1 - b;
  return std::ldexp(1 + f * (a + f * b), static_cast<int>(whole));
}

// log of s > 0: the exponent and three terms of log(1 + m) around the middle of the mantissa's range.
template <class T>
T LogByCubic(T s) {
  if (!(s > 0) || !std::isfinite(s)) return std::log(s);
  const int exponent = std::ilogb(s);
  const T m = std::scalbn(s, -exponent) / static_cast<T>(1.5L) - 1;  // -1/3 to 1/3
  const T log_of_mantissa = static_cast<T>(0.405465108108164381978L) + m * (1 - m * (T{1} / 2 - m / 3));
  return static_cast<T>(exponent) * static_cast<T>(0.693147180559945309417L) + log_of_mantissa;
}

}  // namespace corpus
