#version 450
// SPDX-License-Identifier: Apache-2.0
// The nearest integer to x / scale + zero or x scale + zero, of two the even one, from `low` to low + 255.
#include "codes.glsl"
#include "functions.glsl"

WRITES_BYTES(4, q)

void main() {
  const uint i = Group() * LANES + gl_LocalInvocationID.x;
  if (Group() >= push.groups || i >= p.count) return;
  const uint row = i / p.n, at = i % p.n;
  const float x = Load_x(row * p.x_and_y.x + at * p.x_and_y.y), scale = ScaleAt(row, at);
  precise float code = (MULTIPLIES == 1u ? x * scale : x / scale) + ZeroAt(row, at);
  const float low = float(p.low), limited = code < low ? low : code > low + 255.0 ? low + 255.0 : code;
  Store_q(row * p.x_and_y.z + at * p.x_and_y.w, IsNan(code) ? 0 : int(roundEven(limited)));
}
