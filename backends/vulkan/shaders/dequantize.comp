#version 450
// SPDX-License-Identifier: Apache-2.0
// (x - zero) scale of codes x.
#include "codes.glsl"

WRITES(4, y)

void main() {
  const uint i = Group() * LANES + gl_LocalInvocationID.x;
  if (Group() >= push.groups || i >= p.count) return;
  const uint row = i / p.n, at = i % p.n;
  precise float y = (Load_x(row * p.x_and_y.x + at * p.x_and_y.y) - ZeroAt(row, at)) * ScaleAt(row, at);
  Store_y(row * p.x_and_y.z + at * p.x_and_y.w, y);
}
