#version 450
// SPDX-License-Identifier: Apache-2.0
// Pairs of elements, the halves of each head, turned by an angle; an invocation per pair. x and y are [b,l,h,d], the
// tables of cosines and sines [l,d/2].
#include "types.glsl"

layout(constant_id = 0) const uint LANES = 64;
layout(constant_id = 7) const uint BACK = 0;  // 1: turned back

layout(set = 0, binding = 0, std140) uniform Params {
  uint l, h, half_d, pairs;
  uvec4 x_step, y_step, table_step;  // table_step: of cosines and of sines, rows and elements
} p;

READS(1, x)
READS(2, cosines)
READS(3, sines)
WRITES(4, y)

void main() {
  const uint i = Group() * LANES + gl_LocalInvocationID.x;
  if (Group() >= push.groups || i >= p.pairs) return;
  const uint pair = i % p.half_d, head = i / p.half_d % p.h, place = i / p.half_d / p.h % p.l;
  const uint batch = i / p.half_d / p.h / p.l;
  const real c = Load_cosines(place * p.table_step.x + pair * p.table_step.y);
  const real of_table = Load_sines(place * p.table_step.z + pair * p.table_step.w);
  const real s = BACK == 1u ? -of_table : of_table;
  const uvec4 at = uvec4(batch, place, head, pair);
  const uint from = at.x * p.x_step.x + at.y * p.x_step.y + at.z * p.x_step.z + at.w * p.x_step.w;
  const uint to = at.x * p.y_step.x + at.y * p.y_step.y + at.z * p.y_step.z + at.w * p.y_step.w;
  const real first = Load_x(from), second = Load_x(from + p.half_d * p.x_step.w);
  precise real turned = first * c - second * s;
  precise real beside = second * c + first * s;
  Store_y(to, turned);
  Store_y(to + p.half_d * p.y_step.w, beside);
}
