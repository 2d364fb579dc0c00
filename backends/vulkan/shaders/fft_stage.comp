#version 450
// SPDX-License-Identifier: Apache-2.0
// One stage of a mixed-radix Stockham transform along one axis (decimation in frequency; results in natural order
// without a permutation). RADIX 2 and 4: an invocation per butterfly; odd ones: an invocation per result.
#include "fft.glsl"
layout(constant_id = 7) const uint RADIX = 4;

layout(set = 0, binding = 0, std140) uniform Params {
  uint count, n, inner, m;  // invocations; length of the axis; elements between its neighbours; n / (radices so far)
  uint s, roots, unused_1, unused_2;  // product of the radices so far; start of the table of e^(-2 pi i j / n)
} p;
layout(set = 0, binding = 1, std430) readonly buffer From { complex from[]; };
layout(set = 0, binding = 2, std430) writeonly buffer To { complex to[]; };
layout(set = 0, binding = 3, std430) readonly buffer Roots { complex table[]; };

complex Root(uint j) {
  return table[p.roots + j];
}

void main() {
  if (Group() >= push.groups) return;
  const uint number = Group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (number >= p.count) return;
  const bool small = RADIX == 2u || RADIX == 4u;
  // number = (((outer * m + at) * s + q) * [radix, t]) * inner + i
  const uint i = number % p.inner, rest = number / p.inner;
  const uint t = small ? 0u : rest % RADIX, butterfly = small ? rest : rest / RADIX;
  const uint q = butterfly % p.s, at = butterfly / p.s % p.m, outer = butterfly / p.s / p.m;
  const uint start = outer * p.n * p.inner + i, in_first = start + (at * p.s + q) * p.inner;
  const uint step = p.m * p.s * p.inner, out_first = start + (RADIX * at * p.s + q) * p.inner, apart = p.s * p.inner;
  if (RADIX == 2u) {
    const complex a = from[in_first], b = from[in_first + step];
    to[out_first] = a + b;
    to[out_first + apart] = Product(a - b, Root(at * p.s));
  } else if (RADIX == 4u) {
    const complex a = from[in_first], b = from[in_first + step];
    const complex c = from[in_first + 2u * step], d = from[in_first + 3u * step];
    const complex sum02 = a + c, sum13 = b + d, apart02 = a - c, apart13 = complex(b.y - d.y, d.x - b.x);
    to[out_first] = sum02 + sum13;
    to[out_first + apart] = Product(apart02 + apart13, Root(at * p.s));
    to[out_first + 2u * apart] = Product(sum02 - sum13, Root(2u * at * p.s));
    to[out_first + 3u * apart] = Product(apart02 - apart13, Root(3u * at * p.s));
  } else {
    complex sum = from[in_first];
    for (uint u = 1u; u < RADIX; ++u) {
      sum += Product(from[in_first + u * step], Root(u * t % RADIX * (p.n / RADIX)));
    }
    to[out_first + t * apart] = Product(sum, Root(at * t * p.s));
  }
}
