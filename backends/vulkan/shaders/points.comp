#version 450
// SPDX-License-Identifier: Apache-2.0
// Functions of elements, of one operand or of two, an invocation per element. FUNCTION is a number of points.cc.
#include "types.glsl"
#include "functions.glsl"
#include "more_functions.glsl"

layout(constant_id = 0) const uint LANES = 64;
layout(constant_id = 7) const uint FUNCTION = 0;

layout(set = 0, binding = 0, std140) uniform Params {
  uint count, n, x_row, x_step;
  uint y_row, y_step, z_row, z_step;
  uvec4 numbers;  // the bits of the attributes a and b, in f64 two words each
  uint y_at;
} p;

READS(1, x)
READS(2, y)
WRITES(3, z)

#if defined(VARIANT_F64)
#define NUMBER(first) packDouble2x32(uvec2(p.numbers[first], p.numbers[first + 1]))
const double kRootTwoOverPi = 0.79788456080286536lf, kCubic = 0.044715lf, kSlope = 1.702lf;
const double kRootHalf = 0.70710678118654752lf;
const double kSeluScale = 1.0507009873554805lf, kSeluAlpha = 1.6732632423543772lf;
#else
#define NUMBER(first) uintBitsToFloat(p.numbers[first])
const float kRootTwoOverPi = 0.79788456, kCubic = 0.044715, kSlope = 1.702;
const float kRootHalf = 0.70710678;
const float kSeluScale = 1.0507009, kSeluAlpha = 1.6732632;
#endif

// NaN stays NaN.
real Clip(real x, real low, real high) {
  return x < low ? low : x > high ? high : x;
}

// x tanh(log(1 + e^x)), without a difference: tanh(log(1 + e)) = e (e + 2) / (e (e + 2) + 2).
real Mish(real x) {
  const real e = Exp(x);
  precise real n = e * (e + real(2));
  precise real y = x * (n / (n + real(2)));
  return x > real(30) ? x : y;
}

real GeluByTanh(real x) {
  precise real inner = kRootTwoOverPi * (x + kCubic * (x * x * x));
  precise real y = real(0.5) * x * (real(1) + Tanh(inner));
  return y;
}

// log(1 + e): of e that 1 + e rounds away in part, the quotient makes up for it.
real LogOfOneAnd(real e) {
  precise real sum = real(1) + e, rest = sum - real(1);
  precise real y = rest == real(0) ? e : Log(sum) * (e / rest);
  return y;
}

real Softplus(real x) {
  precise real y = (x > real(0) ? x : real(0)) + LogOfOneAnd(Exp(-abs(x)));
  return IsNan(x) ? x : y;
}

real GeluByErf(real x) {
  precise real y = real(0.5) * x * (real(1) + Erf(x * kRootHalf));
  return y;
}

real Silu(real x) {
  precise real y = x / (real(1) + Exp(-x));
  return y;
}

real Compute(real x, real y, real a, real b) {
  precise real z = real(0);
  if (FUNCTION == 0u) z = abs(x);
  if (FUNCTION == 1u) z = x + y;
  if (FUNCTION == 2u) z = ceil(x);
  if (FUNCTION == 3u) z = x > real(0) ? x : a * (Exp(x / a) - real(1));
  if (FUNCTION == 4u) z = Clip(x, a, b);
  if (FUNCTION == 5u) z = x / y;
  if (FUNCTION == 6u) z = x > real(0) ? x : a * (Exp(x) - real(1));
  if (FUNCTION == 7u) z = Exp(x);
  if (FUNCTION == 8u) z = floor(x);
  if (FUNCTION == 9u) z = GeluByTanh(x);
  if (FUNCTION == 10u) z = Clip(x + real(3), real(0), real(6)) / real(6);
  if (FUNCTION == 11u) z = x * Clip(x / real(6) + real(0.5), real(0), real(1));
  if (FUNCTION == 12u) z = x < real(0) ? a * x : x;
  if (FUNCTION == 13u) z = IsNan(x) || x > y ? x : y;
  if (FUNCTION == 14u) z = IsNan(x) || x < y ? x : y;
  if (FUNCTION == 15u) z = Mish(x);
  if (FUNCTION == 16u) z = x * y;
  if (FUNCTION == 17u) z = -x;
  if (FUNCTION == 18u) z = x < real(0) ? x * y : x;
  if (FUNCTION == 19u) z = x / (real(1) + Exp(-(kSlope * x)));
  if (FUNCTION == 20u) z = real(1) / x;
  if (FUNCTION == 21u) z = x < real(0) ? real(0) : x;
  if (FUNCTION == 22u) z = Clip(x, real(0), real(6));
  if (FUNCTION == 23u) z = roundEven(x);
  if (FUNCTION == 24u) z = kSeluScale * (x > real(0) ? x : kSeluAlpha * (Exp(x) - real(1)));
  if (FUNCTION == 25u) z = real(1) / (real(1) + Exp(-x));
  if (FUNCTION == 26u) z = Silu(x);
  if (FUNCTION == 27u) z = a * Tanh(x / a);
  if (FUNCTION == 28u) z = x / (real(1) + abs(x));
  if (FUNCTION == 29u) z = sqrt(x);
  if (FUNCTION == 30u) z = x * x;
  if (FUNCTION == 31u) z = x - y;
  if (FUNCTION == 32u) z = Tanh(x);
  if (FUNCTION == 33u) z = trunc(x);
  if (FUNCTION == 34u) z = LogOfAny(x);
#if !defined(VARIANT_F64)
  if (FUNCTION == 35u) z = SinOfQuarters(x, 0u);
  if (FUNCTION == 36u) z = SinOfQuarters(x, 1u);
#endif
  if (FUNCTION == 37u) z = Erf(x);
  if (FUNCTION == 38u) z = x > real(0) ? inversesqrt(x) : x < real(0) ? NOT_A_NUMBER : real(1) / x;  // NaN too
  if (FUNCTION == 39u) z = x > real(0) ? real(1) : x < real(0) ? real(-1) : x;
  if (FUNCTION == 40u) z = Softplus(x);
  if (FUNCTION == 41u) z = -Softplus(-x);
  if (FUNCTION == 42u) z = Silu(x) * y;
  if (FUNCTION == 43u) z = GeluByTanh(x) * y;
  if (FUNCTION == 44u) z = GeluByErf(x);
  if (FUNCTION == 45u) z = GeluByErf(x) * y;
  return z;
}

void main() {
  const uint i = Group() * LANES + gl_LocalInvocationID.x;
  if (Group() >= push.groups || i >= p.count) return;
  const uint row = i / p.n, at = i % p.n;
  const real x = Load_x(row * p.x_row + at * p.x_step), y = Load_y(p.y_at + row * p.y_row + at * p.y_step);
  Store_z(row * p.z_row + at * p.z_step, Compute(x, y, NUMBER(0), NUMBER(2)));
}
