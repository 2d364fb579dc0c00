// SPDX-License-Identifier: Apache-2.0
// The branch-free kernels behind the normal and lognormal deviates: IEEE basic operations and integers
// only, so that a vectorised loop gives the same bits as a single call. Reductions and coefficients are those of
// FreeBSD's msun (fdlibm, Sun Microsystems 1993), errors below 1 ulp.
// No 64-bit lane converts between integer and double before AVX-512: the bits of 2^52 + n hold n instead.
#pragma once

#include <bit>
#include <cstdint>

namespace assay::internal {

inline constexpr double kTwo52 = 0x1p52;
inline constexpr uint64_t kTwo52Bits = std::bit_cast<uint64_t>(kTwo52);
inline constexpr double kRoundingShifter = 0x1.8p52;  // adding it rounds |x| < 2^51 to an integer in the low bits
inline constexpr double kLn2High = 6.93147180369123816490e-01;  // 33 bits: times an exponent it is exact
inline constexpr double kLn2Low = 1.90821492927058770002e-10;
inline constexpr double kHalfPi = 1.57079632679489661923;
inline constexpr uint64_t kSqrtHalfBits = 0x3FE6A09E667F3BCD;
// Coefficients of polynomials, the constant first; those of the logarithm by even and odd powers of s^2.
inline constexpr double kLogEven[] = {3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01};
inline constexpr double kLogOdd[] = {6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01,
                                     1.479819860511658591e-01};
inline constexpr double kSine[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                                   -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                                   -2.50507602534068634195e-08, 1.58969099521155010221e-10};
inline constexpr double kCosine[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                     2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                     2.08757232129817482790e-09, -1.13596475577881948265e-11};

// n < 2^53, exactly.
inline double ExactDouble(uint64_t n) {
  constexpr double kTwo84 = 0x1p84;
  const double high = std::bit_cast<double>(std::bit_cast<uint64_t>(kTwo84) | (n >> 32));
  const double low = std::bit_cast<double>(kTwo52Bits | (n & 0xFFFFFFFFu));
  return (high - (kTwo84 + kTwo52)) + low;
}

// ln x for a normal, finite, positive x.
inline double LogKernel(double x) {
  constexpr uint64_t kOne = uint64_t{1023} << 52;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t exponent = (bits + (kOne - kSqrtHalfBits)) >> 52;  // biased: m = x / 2^k lies in [sqrt(1/2), sqrt(2))
  const double m = std::bit_cast<double>(bits - (exponent << 52) + kOne);
  const double k = std::bit_cast<double>(kTwo52Bits | exponent) - (kTwo52 + 1023);
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double w = z * z;
  const double even = w * (kLogEven[0] + w * (kLogEven[1] + w * kLogEven[2]));
  const double odd = z * (kLogOdd[0] + w * (kLogOdd[1] + w * (kLogOdd[2] + w * kLogOdd[3])));
  const double half_square = 0.5 * f * f;
  return s * (half_square + (even + odd)) + k * kLn2Low - half_square + f + k * kLn2High;
}

// Keeps the exponent arithmetic of ExpInRange in range and its result as it is; a NaN passes.
inline double ClampToExpRange(double x) {
  x = x > 710.0 ? 710.0 : x;
  return x < -746.0 ? -746.0 : x;
}

// e^x for a clamped x; a NaN makes y a NaN, whatever its scale.
inline double ExpInRange(double x) {
  const double shifted = x * 1.44269504088896338700 + kRoundingShifter;
  const double k = shifted - kRoundingShifter;
  const double high = x - k * kLn2High;
  const double low = k * kLn2Low;
  const double r = high - low;
  const double t = r * r;
  const double c =
      r -
      t * (1.66666666666666019037e-01 +
           t * (-2.77777777770155933842e-03 +
                t * (6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
  const double y = 1.0 + ((r * c / (2.0 - c) - low) + high);
  // 2^k in two factors, each a normal number for -1076 <= k <= 1024; only the last product can round.
  const uint64_t biased = std::bit_cast<uint64_t>(shifted) - std::bit_cast<uint64_t>(kRoundingShifter) + 2048;
  const uint64_t first = biased >> 1;
  const uint64_t second = biased - first;
  return y * std::bit_cast<double>((first - 1) << 52) * std::bit_cast<double>((second - 1) << 52);
}

// e^x for every x.
inline double ExpKernel(double x) {
  return ExpInRange(ClampToExpRange(x));
}

// exp of n values, also in place. Two loops, because GCC turns a single one into branches on the clamps' constants and
// does not vectorise it.
inline void ExpKernels(const double* x, double* e, int64_t n) {
  for (int64_t i = 0; i < n; ++i) e[i] = ClampToExpRange(x[i]);
  for (int64_t i = 0; i < n; ++i) e[i] = ExpInRange(e[i]);
}

inline double SinKernel(double x) {  // |x| <= pi/4
  const double z = x * x;
  return x + x * z * (kSine[0] + z * (kSine[1] + z * (kSine[2] + z * (kSine[3] + z * (kSine[4] + z * kSine[5])))));
}

inline double CosKernel(double x) {  // |x| <= pi/4
  const double z = x * x;
  const double r =
      z * (kCosine[0] + z * (kCosine[1] + z * (kCosine[2] + z * (kCosine[3] + z * (kCosine[4] + z * kCosine[5])))));
  const double half = 0.5 * z;
  const double w = 1.0 - half;
  return w + (((1.0 - w) - half) + z * r);
}

struct SinCos {
  double sin, cos;
};

// sin and cos of a 2^-53 turns, a < 2^53.
inline SinCos SinCosOfTurns(uint64_t a) {
  const double quarters = ExactDouble(a) * 0x1p-51;  // in [0, 4), exact, as is its distance from an integer
  const double shifted = quarters + kRoundingShifter;
  const double angle = (quarters - (shifted - kRoundingShifter)) * kHalfPi;
  const uint64_t quadrant = std::bit_cast<uint64_t>(shifted);  // in the lowest bits
  const uint64_t s = std::bit_cast<uint64_t>(SinKernel(angle));
  const uint64_t c = std::bit_cast<uint64_t>(CosKernel(angle));
  const uint64_t swap = 0 - (quadrant & 1);
  const uint64_t sin_sign = (quadrant & 2) << 62;
  const uint64_t cos_sign = ((quadrant + 1) & 2) << 62;
  return {std::bit_cast<double>(((s & ~swap) | (c & swap)) ^ sin_sign),
          std::bit_cast<double>(((c & ~swap) | (s & swap)) ^ cos_sign)};
}

}  // namespace assay::internal
