#version 450
// SPDX-License-Identifier: Apache-2.0
// One workgroup per row. FORM 0: maximum, sum of exponentials, quotients; 1: maximum and sum in one pass, the sum
// rescaled when the maximum grows; 2: as 0 with the device's exp.
#include "types.glsl"
#include "axes.glsl"
#include "functions.glsl"

layout(constant_id = 0) const uint LANES = 64;
layout(constant_id = 7) const uint FORM = 0;

layout(set = 0, binding = 0, std140) uniform Params {
  uint count, x_stride, y_stride, log_result;
  uint others_count, unused_1, unused_2, unused_3;
  Axis others[kMaxAxes];
} p;
OFFSETS_OF(RowOffsets, p.others, p.others_count)

READS(1, x)
WRITES(2, y)

shared real lanes_max[LANES];
shared real lanes_sum[LANES];

real RowExp(real x) {
#if !defined(VARIANT_F64)
  if (FORM == 2u) return exp(x);
#endif
  return Exp(x);
}

// exp(from - to), also for the same infinity on both sides.
real Weight(real from, real to) {
  return from == to ? real(1) : RowExp(from - to);
}

// A greater element takes the place of the maximum; NaN never does, but reaches the sum.
void Join(inout real m, inout real sum, real other_m, real other_sum) {
  const real greatest = other_m > m ? other_m : m;
  precise real joined = sum * Weight(m, greatest) + other_sum * Weight(other_m, greatest);
  m = greatest;
  sum = joined;
}

void main() {
  const uint group = Group(), lane = gl_LocalInvocationID.x;
  if (group >= push.groups) return;
  const uvec2 row = RowOffsets(group);
  real m = MINUS_INFINITY, sum = real(0);
  for (uint i = lane; i < Opaque(p.count); i += LANES) {
    const real value = Load_x(row.x + i * p.x_stride);
    if (FORM == 1u) {
      if (IsNan(value)) sum = value;
      if (value > MINUS_INFINITY) Join(m, sum, value, real(1));
    } else if (value > m) {
      m = value;
    }
  }
  lanes_max[lane] = m;
  lanes_sum[lane] = sum;
  for (uint half_way = LANES / 2u; half_way > 0u; half_way /= 2u) {
    barrier();
    if (lane < half_way) {
      if (FORM == 1u) {
        Join(m, sum, lanes_max[lane + half_way], lanes_sum[lane + half_way]);
        lanes_sum[lane] = sum;
      } else if (lanes_max[lane + half_way] > m) {
        m = lanes_max[lane + half_way];
      }
      lanes_max[lane] = m;
    }
  }
  barrier();
  m = lanes_max[0];
  if (FORM != 1u) {
    barrier();
    precise real own = real(0);
    for (uint i = lane; i < Opaque(p.count); i += LANES) own += RowExp(Load_x(row.x + i * p.x_stride) - m);
    lanes_sum[lane] = own;
    for (uint half_way = LANES / 2u; half_way > 0u; half_way /= 2u) {
      barrier();
      if (lane < half_way) {
        precise real joined = lanes_sum[lane] + lanes_sum[lane + half_way];
        lanes_sum[lane] = joined;
      }
    }
    barrier();
  }
  sum = lanes_sum[0];
  // inf - inf, as the formula has it for a row of -inf or one with +inf.
  if (m == MINUS_INFINITY || m == -MINUS_INFINITY) sum = NOT_A_NUMBER;
  const real log_sum = Opaque(p.log_result) != 0u ? Log(sum) : real(0);
  for (uint i = lane; i < Opaque(p.count); i += LANES) {
    precise real value = Load_x(row.x + i * p.x_stride) - m;
    if (Opaque(p.log_result) != 0u) {
      value = value - log_sum;
    } else {
      value = RowExp(value) / sum;
    }
    Store_y(row.y + i * p.y_stride, value);
  }
}
