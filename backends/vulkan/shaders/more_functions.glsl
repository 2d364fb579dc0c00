// SPDX-License-Identifier: Apache-2.0
// log of any number, erf, and sin and cos of f32, from additions and products as those of functions.glsl.
#if defined(VARIANT_F64)
const double kLeastNormal = 2.2250738585072014e-308lf, kScaleUp = 18014398509481984.0lf, kTwoOverRootPi = 1.1283791670955126lf;
const double kErfSeries = 2.0lf, kErfOne = 6.0lf, kRootPi = 1.7724538509055159lf;
const int kErfTerms = 45, kScaledBits = 54;
double Leading(double x) {  // 26 bits, whose square is exact
  const uvec2 bits = unpackDouble2x32(x);
  return packDouble2x32(uvec2(bits.x & 0xF8000000u, bits.y));
}
#else
const float kLeastNormal = 1.17549435e-38, kScaleUp = 33554432.0, kTwoOverRootPi = 1.12837917;
const float kErfSeries = 1.0, kErfOne = 4.0, kRootPi = 1.77245385;
const int kErfTerms = 14, kScaledBits = 25;
float Leading(float x) {  // 12 bits, whose square is exact
  return uintBitsToFloat(floatBitsToUint(x) & 0xFFFFF000u);
}
#endif

real LogOfAny(real x) {
  if (x == real(0)) return MINUS_INFINITY;
  if (x < real(0)) return NOT_A_NUMBER;
  if (!(x < kLeastNormal)) return Log(x);
  precise real result = Log(x * kScaleUp) - real(kScaledBits) * (kLn2High + kLn2Low);
  return result;
}

const int kErfLevels = 60;

// exp(-x^2); the square is taken apart, as its rounding would be an error of x^2 ulp.
real ExpOfSquare(real x) {
  precise real high = Leading(x), low = x - high;
  precise real result = Exp(-(high * high)) * Exp(-(low * (x + high)));
  return result;
}

// Small: 2 / sqrt(pi) exp(-x^2) times the sum of 2^n x^(2n+1) / (1 3 5 ... (2n+1)), whose terms are all of one sign.
// Others: 1 - exp(-x^2) / (sqrt(pi) t) with the continued fraction t = x + (1/2) / (x + (2/2) / (x + (3/2) / (x + ...))).
real Erf(real x) {
  const real size = abs(x);
  if (IsNan(x) || x == real(0)) return x;  // -0 too
  precise real result = real(1);
  if (size < kErfSeries) {
    precise real square = x * x, term = size, sum = size;
    for (int n = 1; n <= kErfTerms; ++n) {
      term = term * (real(2) * square) / real(2 * n + 1);
      sum = sum + term;
    }
    result = kTwoOverRootPi * (ExpOfSquare(size) * sum);
  } else if (size < kErfOne) {
    precise real t = size;
    for (int k = kErfLevels; k >= 1; --k) t = size + real(0.5) * real(k) / t;
    result = real(1) - ExpOfSquare(size) / (kRootPi * t);
  }
  return x < real(0) ? -result : result;
}

#if !defined(VARIANT_F64)
// Bits of 2 / pi, the first of which are worth 2^-1, 2^-2, ...
const uint kTwoOverPi[7] = uint[](0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u, 0xF534DDC0u, 0xDB629599u, 0x3C439041u, 0xFE5163ABu);

uint WordOfTwoOverPi(int bit) {  // 32 bits from this one on; those before the first are 0
  if (bit <= -32) return 0u;
  if (bit < 0) return kTwoOverPi[0] >> uint(-bit);
  const int word = bit >> 5;
  const uint shift = uint(bit & 31);
  return shift == 0u ? kTwoOverPi[word] : kTwoOverPi[word] << shift | kTwoOverPi[word + 1] >> (32u - shift);
}

// sin(r + quarters pi/2) for |r| up to pi/4.
real SinOfPart(uint quarters, real r) {
  precise real z = r * r;
  precise real sine = r + r * (z * (-1.0 / 6.0 + z * (1.0 / 120.0 + z * (-1.0 / 5040.0 + z * (1.0 / 362880.0)))));
  precise real cosine = 1.0 - (0.5 * z - z * z * (1.0 / 24.0 + z * (-1.0 / 720.0 + z * (1.0 / 40320.0 - z * (1.0 / 3628800.0)))));
  const real value = (quarters & 1u) == 0u ? sine : cosine;
  return (quarters & 2u) == 0u ? value : -value;
}

// sin(x + more pi/2). x = m 2^e with m of 24 bits: of m 2/pi 2^e only what is below 4 counts, so that 96 bits of 2/pi
// from the place on that is worth 4 / 2^24 give the quarter and 64 bits behind it.
real SinOfQuarters(real x, uint more) {
  const uint bits = floatBitsToUint(abs(x));
  if (bits >= 0x7F800000u) return NOT_A_NUMBER;
  real r = abs(x);
  uint quarters = 0u;
  if (bits > 0x3F490FDAu) {  // above pi/4
    const int e = int(bits >> 23) - 150;
    const uint m = bits & 0x7FFFFFu | 0x800000u;
    const int first = e - 2;  // the bit of 2/pi that is worth 2 after the product with 2^e
    uint high, low, high_2, low_2, carry;
    umulExtended(m, WordOfTwoOverPi(first + 32), high, low);
    umulExtended(m, WordOfTwoOverPi(first + 64), high_2, low_2);
    uint fraction = uaddCarry(low, high_2, carry);  // worth 2^-30 and less of a quarter turn in its last bit
    uint top = m * WordOfTwoOverPi(first) + high + carry;
    quarters = top >> 30;
    // 62 bits behind the quarters: those of top, then fraction.
    uint upper = top << 2 | fraction >> 30, lower = fraction << 2 | low_2 >> 30;
    const bool up = (upper & 0x80000000u) != 0u;
    if (up) {  // the next quarter, and a negative rest
      quarters += 1u;
      lower = ~lower + 1u;
      upper = ~upper + (lower == 0u ? 1u : 0u);
    }
    const int zeros = 31 - findMSB(upper);
    if (upper == 0u) {
      r = real(lower) * 5.421010862427522e-20;
    } else {
      const uint leading = zeros == 0 ? upper : upper << uint(zeros) | lower >> uint(32 - zeros);
      precise real turned = real(leading >> 8) * PowerOfTwo(-24 - zeros) + real(leading & 0xFFu) * PowerOfTwo(-32 - zeros);
      r = turned;
    }
    precise real angle = r * 1.5707964;
    r = up ? -angle : angle;
  }
  if (x < 0.0) {  // sin(-a + k pi/2) = sin(-(a - k pi/2))
    r = -r;
    quarters = (4u - quarters) & 3u;
  }
  if (more == 0u && quarters == 0u && r == 0.0) return x;
  return SinOfPart(quarters + more, r);
}
#endif
