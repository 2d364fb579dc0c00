// SPDX-License-Identifier: Apache-2.0
// exp and log in double-double. exp: x = k ln2 + r, Taylor of expm1 at r / 512, nine doublings. log: one Newton step
// on exp from a double start. Errors are in units of u^2 = 2^-106; tests compare with MPFR.
#include <cmath>

#include "golden/dd/dd.h"
#include "golden/dd/inverse_factorial.h"

namespace assay {
namespace {

// ln 2 to 160 bits: k ln2 has to be right to 2^-110 for |k| up to 1100.
constexpr double kLn2[3] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, 0x1.7b57a079a1934p-111};

// The first term of the series left out is (ln2 / 1024)^10 / 10! < 2^-126.
constexpr int kLastTerm = 9;

// x + k ln2. k is an integer below 2^11 in magnitude.
DD AddMultipleOfLn2(DD x, double k) {
  return x + TwoProd(k, kLn2[0]) + (TwoProd(k, kLn2[1]) + k * kLn2[2]);
}

DD ExpM1Small(DD r) {  // |r| <= ln2 / 1024
  DD series = InverseFactorial(kLastTerm);
  for (int n = kLastTerm - 1; n >= 2; --n) series = series * r + InverseFactorial(n);
  return r + r * r * series;
}

// ln(m) to about 1e-16 for m in [0.7, 1.42]: 2 artanh(t), t = (m - 1) / (m + 1), |t| <= 0.1716.
double RoughLog(double m) {
  const double t = (m - 1) / (m + 1);
  const double t2 = t * t;
  double series = 0;
  for (int n = 21; n >= 1; n -= 2) series = series * t2 + 1.0 / n;
  return 2 * t * series;
}

}  // namespace

DD Exp(DD x) {
  const double k = std::nearbyint(x.hi / kLn2[0]);
  const DD r = AddMultipleOfLn2(x, -k);
  // exp(r) - 1 rather than exp(r) is doubled up, so that the error stays relative to the small number.
  DD e = ExpM1Small(Scale(r, 1.0 / 512));
  for (int i = 0; i < 9; ++i) e = Scale(e, 2) + e * e;
  e = e + 1.0;
  const int exponent = static_cast<int>(k);
  return {std::ldexp(e.hi, exponent), std::ldexp(e.lo, exponent)};
}

DD Log1p(DD x) {
  if (x.hi > 0.25) return Log(x + 1.0);  // above 0.22, so that an error relative to 1 is 4.5 times as large here
  // 2 artanh(t), t = x / (2 + x) <= 1/9: the first term of the series left out is below 2^-106 of it.
  constexpr int kLastPower = 33;
  const DD t = x / (x + 2.0), t2 = t * t;
  DD series = DD{1, 0} / DD{kLastPower, 0};
  for (int n = kLastPower - 2; n >= 1; n -= 2) series = series * t2 + DD{1, 0} / DD{static_cast<double>(n), 0};
  return Scale(t * series, 2);
}

DD Log(DD x) {
  int exponent = 0;
  double m = std::frexp(x.hi, &exponent);  // [0.5, 1)
  if (m < 0x1.6a09e667f3bcdp-1) --exponent;
  const DD mantissa = {std::ldexp(x.hi, -exponent), std::ldexp(x.lo, -exponent)};  // [0.7, 1.42]
  const double start = RoughLog(mantissa.hi);
  // ln m = start + ln(1 + z), z = m exp(-start) - 1 of about 1e-16: z - z^2/2 leaves 1e-48.
  const DD z = mantissa * Exp({-start, 0}) + -1.0;
  const DD log_mantissa = (z + -(z.hi * z.hi / 2)) + start;
  return AddMultipleOfLn2(log_mantissa, exponent);
}

}  // namespace assay
