#version 450
// SPDX-License-Identifier: Apache-2.0
// The products of Bluestein's transform of lines of length n through ones of a padded length. MODE 0: times the chirp,
// padded with zeros; 1: times the chirp's spectrum, parts exchanged for the way back; 2: parts exchanged again, times
// the chirp.
#include "fft.glsl"
layout(constant_id = 7) const uint MODE = 0;

layout(set = 0, binding = 0, std140) uniform Params {
  uint count, n, padded, inner;
  uint chirp, spectrum, unused_1, unused_2;  // starts of the tables
} p;
layout(set = 0, binding = 1, std430) readonly buffer From { complex from[]; };
layout(set = 0, binding = 2, std430) writeonly buffer To { complex to[]; };
layout(set = 0, binding = 3, std430) readonly buffer Tables { complex table[]; };

// Element j of line `line` in the workspace [outer, n, inner].
uint Strided(uint line, uint j) {
  return (line / p.inner * p.n + j) * p.inner + line % p.inner;
}

void main() {
  if (Group() >= push.groups) return;
  const uint number = Group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (number >= p.count) return;
  const uint length = MODE == 2u ? p.n : p.padded;
  const uint line = number / length, j = number % length;
  if (MODE == 0u) {
    to[number] = j < p.n ? Product(from[Strided(line, j)], table[p.chirp + j]) : complex(0);
  } else if (MODE == 1u) {
    to[number] = Product(from[number], table[p.spectrum + j]).yx;
  } else {
    to[Strided(line, j)] = Product(from[line * p.padded + j].yx, table[p.chirp + j]);
  }
}
