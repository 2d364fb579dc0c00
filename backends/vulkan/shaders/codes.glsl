// SPDX-License-Identifier: Apache-2.0
// Numbers and their codes of 8 bits, an invocation per element: x is [rows,n], a scale and a code of zero are of all, of
// a row or of a column.
#include "types.glsl"

layout(constant_id = 0) const uint LANES = 64;
layout(constant_id = 7) const uint MULTIPLIES = 0;  // 1: x by its scale, not through it
layout(constant_id = 8) const uint HAS_ZERO = 0;    // 1: codes of zero are an operand

layout(set = 0, binding = 0, std140) uniform Params {
  uint count, n;
  int zero, low;
  uvec4 x_and_y;         // rows and elements of each
  uvec4 scale_and_zero;  // likewise
} p;

READS(1, x)
READS(2, scale)
READS(3, zero)

float ZeroAt(uint row, uint at) {
  return HAS_ZERO == 1u ? Load_zero(row * p.scale_and_zero.z + at * p.scale_and_zero.w) : float(p.zero);
}
float ScaleAt(uint row, uint at) {
  return Load_scale(row * p.scale_and_zero.x + at * p.scale_and_zero.y);
}
