// SPDX-License-Identifier: Apache-2.0
// exp, log and tanh for f32 and f64 from additions and products, which Vulkan rounds correctly (contract.h declares
// their accuracy). Vulkan has none in f64, and bounds neither its log near 1 nor its tanh near 0 in ulp.
#if defined(VARIANT_F64)
#define MINUS_INFINITY packDouble2x32(uvec2(0u, 0xFFF00000u))
#define NOT_A_NUMBER packDouble2x32(uvec2(0u, 0x7FF80000u))
#define LOWEST packDouble2x32(uvec2(0xFFFFFFFFu, 0xFFEFFFFFu))
bool IsNan(double x) {
  const uvec2 bits = unpackDouble2x32(x);
  return (bits.y & 0x7FFFFFFFu) > 0x7FF00000u || ((bits.y & 0x7FFFFFFFu) == 0x7FF00000u && bits.x != 0u);
}
// 2^k for normal results.
double PowerOfTwo(int k) {
  return packDouble2x32(uvec2(0u, uint(k + 1023) << 20));
}
const double kLog2E = 1.4426950408889634lf, kLn2High = 6.93147180369123816490e-01lf,
             kLn2Low = 1.90821492927058770002e-10lf;
const double kExpZero = -745.2lf, kExpInfinite = 709.8lf, kTanhOne = 20.0lf;
const int kExpTerms = 13, kExpm1Terms = 22, kLogTerms = 12;
#else
#define MINUS_INFINITY uintBitsToFloat(0xFF800000u)
#define NOT_A_NUMBER uintBitsToFloat(0x7FC00000u)
#define LOWEST uintBitsToFloat(0xFF7FFFFFu)
bool IsNan(float x) {
  return (floatBitsToUint(x) & 0x7FFFFFFFu) > 0x7F800000u;
}
float PowerOfTwo(int k) {
  return uintBitsToFloat(uint(k + 127) << 23);
}
const float kLog2E = 1.44269504, kLn2High = 0.693359375, kLn2Low = -2.12194440e-4;
const float kExpZero = -104.0, kExpInfinite = 88.73, kTanhOne = 10.0;
const int kExpTerms = 7, kExpm1Terms = 12, kLogTerms = 6;
#endif

// x = k ln 2 + r with |r| <= ln(2) / 2; the series of exp(r), and 2^k in two factors, of which each is normal.
real Exp(real x) {
  if (x < kExpZero) return real(0);
  if (x > kExpInfinite) return -MINUS_INFINITY;
  precise real k = floor(x * kLog2E + real(0.5));
  precise real r = (x - k * kLn2High) - k * kLn2Low;
  precise real sum = real(1);
  [[unroll]] for (int n = kExpTerms; n >= 2; --n) sum = real(1) + r * (real(1) / real(n)) * sum;
  sum = real(1) + r * sum;
  const int whole = int(k), half_way = whole >> 1;
  precise real result = sum * PowerOfTwo(half_way) * PowerOfTwo(whole - half_way);
  return result;
}

// x = 2^k m with m between sqrt(1/2) and sqrt(2), f = m - 1, s = f / (2 + f), R(s) = log(1 + f) - 2 s over s:
// log(1 + f) = f - (f^2 / 2 - s (f^2 / 2 + R)). For normal x.
real Log(real x) {
  if (IsNan(x) || x == -MINUS_INFINITY) return x;
#if defined(VARIANT_F64)
  const uvec2 bits = unpackDouble2x32(x);
  const int k = (int(bits.y) - 0x3FE6A09E) >> 20;
  const double m = packDouble2x32(uvec2(bits.x, bits.y - uint(k << 20)));
#else
  const int bits = floatBitsToInt(x), k = (bits - 0x3F3504F3) >> 23;
  const float m = intBitsToFloat(bits - (k << 23));
#endif
  precise real f = m - real(1);
  precise real s = f / (real(2) + f);
  precise real z = s * s, series = real(0);
  [[unroll]] for (int n = kLogTerms; n >= 1; --n) series = z * (real(2) / real(2 * n + 1) + series);
  precise real square = real(0.5) * f * f;
  precise real result = real(k) * kLn2High - ((square - (s * (square + series) + real(k) * kLn2Low)) - f);
  return result;
}

// With e = exp(2 |x|) - 1, for small arguments by its own series: e / (e + 2).
real Tanh(real x) {
  const real size = abs(x);
  if (IsNan(x)) return x;
  precise real result = real(1);
  if (size < real(0.625)) {
    const real t = size + size;
    precise real sum = real(1);
    for (int n = kExpm1Terms; n >= 2; --n) sum = real(1) + t / real(n) * sum;
    precise real e = t * sum;
    result = e / (e + real(2));
  } else if (size < kTanhOne) {
    result = real(1) - real(2) / (Exp(size + size) + real(1));
  }
  return x < real(0) ? -result : result;
}
