#version 450
// SPDX-License-Identifier: Apache-2.0
// Rows of dense operands, a workgroup per row: layer_norm (KIND 0), rms_norm (1), softmax_backward (2) of probabilities x
// and their gradient, its like of logarithms (3), cumsum (4) and cumprod (6), which the first invocation of a row
// computes alone, and batch_norm (5) by given statistics. KIND 0 is group_norm and instance_norm too: weights lie where WeightOf says.
#include "types.glsl"
#include "functions.glsl"

layout(constant_id = 0) const uint LANES = 64;
layout(constant_id = 7) const uint KIND = 0;

layout(set = 0, binding = 0, std140) uniform Params {
  uint n, period, weight_step, inner;
  uvec4 eps;  // its bits, in f64 two words
} p;

READS(1, x)
READS(2, second)
READS(3, third)
WRITES(4, y)
READS(5, mean)
READS(6, variance)

shared real sums[LANES];

real EpsOf() {
#if defined(VARIANT_F64)
  return packDouble2x32(p.eps.xy);
#else
  return uintBitsToFloat(p.eps.x);
#endif
}

// The sum of all lanes' values, in every lane.
real SumOfLanes(real own) {
  const uint lane = gl_LocalInvocationID.x;
  barrier();
  sums[lane] = own;
  for (uint half_way = LANES / 2u; half_way > 0u; half_way /= 2u) {
    barrier();
    if (lane < half_way) {
      precise real joined = sums[lane] + sums[lane + half_way];
      sums[lane] = joined;
    }
  }
  barrier();
  return sums[0];
}

void RunningSums(uint begin) {
  precise real all = KIND == 6u ? real(1) : real(0);
  for (uint i = 0u; i < Opaque(p.n); ++i) {
    const real x = Load_x(begin + i);
    all = KIND == 6u ? all * x : all + x;
    Store_y(begin + i, all);
  }
}

void Gradient(uint begin) {
  const uint lane = gl_LocalInvocationID.x;
  precise real own = real(0);
  for (uint i = lane; i < Opaque(p.n); i += LANES) {
    const real dy = Load_second(begin + i);
    own += KIND == 3u ? dy : Load_x(begin + i) * dy;
  }
  const real sum = SumOfLanes(own);
  for (uint i = lane; i < Opaque(p.n); i += LANES) {
    const real of_y = Load_x(begin + i), dy = Load_second(begin + i);
    precise real dx = of_y * (dy - sum);
    if (KIND == 3u) dx = dy - Exp(of_y) * sum;
    Store_y(begin + i, dx);
  }
}

uint WeightOf(uint row, uint i) {
  return row % p.period * p.weight_step + i / p.inner;
}

void NormaliseByGiven(uint row) {
  const uint channel = WeightOf(row, 0u);
  const real middle = Load_mean(channel), factor = Load_second(channel), offset = Load_third(channel);
  precise real rstd = inversesqrt(Load_variance(channel) + EpsOf());
  for (uint i = gl_LocalInvocationID.x; i < Opaque(p.n); i += LANES) {
    precise real scaled = (Load_x(row * p.n + i) - middle) * rstd * factor + offset;
    Store_y(row * p.n + i, scaled);
  }
}

void Normalise(uint row) {
  const uint begin = row * p.n;
  const uint lane = gl_LocalInvocationID.x;
  const real count = real(p.n);
  precise real own = real(0), mean = real(0);
  if (KIND == 0u) {
    for (uint i = lane; i < Opaque(p.n); i += LANES) own += Load_x(begin + i);
    mean = SumOfLanes(own) / count;
  }
  precise real squares = real(0);
  for (uint i = lane; i < Opaque(p.n); i += LANES) {
    precise real centred = Load_x(begin + i) - mean;
    squares += centred * centred;
  }
  precise real rstd = inversesqrt(SumOfLanes(squares) / count + EpsOf());
  for (uint i = lane; i < Opaque(p.n); i += LANES) {
    precise real scaled = (Load_x(begin + i) - mean) * rstd * Load_second(WeightOf(row, i));
    if (KIND == 0u) scaled = scaled + Load_third(WeightOf(row, i));
    Store_y(begin + i, scaled);
  }
}

void main() {
  const uint row = Group();
  if (row >= push.groups) return;
  if (KIND == 4u || KIND == 6u) {
    if (gl_LocalInvocationID.x == 0u) RunningSums(row * p.n);
  } else if (KIND == 5u) {
    NormaliseByGiven(row);
  } else if (KIND >= 2u) {
    Gradient(row * p.n);
  } else {
    Normalise(row);
  }
}
