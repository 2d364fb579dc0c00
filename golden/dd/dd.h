// SPDX-License-Identifier: Apache-2.0
// Double-double arithmetic: an unevaluated sum hi + lo with |lo| <= ulp(hi)/2, about 106 bits. Error-free transforms
// by Knuth and Dekker, error bounds by Joldes, Muller, Popescu, "Tight and rigorous error bounds for basic building
// blocks of double-word arithmetic", ACM TOMS 44(2), 2017. u = 2^-53.
#pragma once

#include <cmath>

#ifdef __FAST_MATH__
#error "double-double arithmetic needs IEEE semantics: build without -ffast-math"
#endif

namespace assay {

struct DD {
  double hi = 0, lo = 0;
};

// a + b exactly, unless it overflows.
inline DD TwoSum(double a, double b) {
  const double s = a + b;
  const double t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}

// TwoSum in half the operations. Requires |a| >= |b| or a == 0.
inline DD QuickTwoSum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}

// a * b exactly, unless it overflows or its low part underflows. std::fma is exact everywhere, with or without
// hardware support, so the bits do not depend on the machine.
inline DD TwoProd(double a, double b) {
  const double p = a * b;
  return {p, std::fma(a, b, -p)};
}

inline DD operator-(DD a) {
  return {-a.hi, -a.lo};
}

// Relative error at most 2 u^2.
inline DD operator+(DD a, double b) {
  const DD s = TwoSum(a.hi, b);
  return QuickTwoSum(s.hi, a.lo + s.lo);
}

// Relative error at most 3 u^2 + 13 u^3 (AccurateDWPlusDW).
inline DD operator+(DD a, DD b) {
  const DD s = TwoSum(a.hi, b.hi);
  const DD t = TwoSum(a.lo, b.lo);
  const DD v = QuickTwoSum(s.hi, s.lo + t.hi);
  return QuickTwoSum(v.hi, t.lo + v.lo);
}
inline DD operator-(DD a, DD b) {
  return a + -b;
}

// Relative error at most 2 u^2 (DWTimesFP3).
inline DD operator*(DD a, double b) {
  const DD p = TwoProd(a.hi, b);
  return QuickTwoSum(p.hi, std::fma(a.lo, b, p.lo));
}

// Relative error at most 4 u^2 (DWTimesDW3).
inline DD operator*(DD a, DD b) {
  const DD p = TwoProd(a.hi, b.hi);
  const double cross = std::fma(a.lo, b.hi, std::fma(a.hi, b.lo, a.lo * b.lo));
  return QuickTwoSum(p.hi, p.lo + cross);
}

// Relative error below 2^-100: the second quotient corrects the first one's.
inline DD operator/(DD a, DD b) {
  const double q = a.hi / b.hi;
  const DD rest = a - b * q;
  return QuickTwoSum(q, rest.hi / b.hi);
}

// By a power of two; exact unless it leaves double's range.
inline DD Scale(DD a, double power) {
  return {a.hi * power, a.lo * power};
}

// exp(x) for |x| <= 700 and ln(x) for normal x > 0, by IEEE basic operations alone, so that the bits are the same on
// every machine. Relative error of Exp (for x >= -640: further down the low part underflows), and error of Log
// relative to max(1, |ln x|), below kDDFunctionError.
inline constexpr double kDDFunctionError = 0x1p-94;
DD Exp(DD x);
DD Log(DD x);
// ln(1 + x) for x >= 0. Relative error below 5 kDDFunctionError, however small x is, while x's low part is no
// subnormal.
DD Log1p(DD x);

}  // namespace assay
