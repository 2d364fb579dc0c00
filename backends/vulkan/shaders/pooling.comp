#version 450
// SPDX-License-Identifier: Apache-2.0
// Windows of images, an invocation per window: means (KIND 0), means of adaptive windows (1), sums of sizes (2), roots of
// sums of squares (3), and maxima with their places (4).
#include "types.glsl"
#include "functions.glsl"

layout(constant_id = 0) const uint LANES = 64;
layout(constant_id = 7) const uint KIND = 0;

layout(set = 0, binding = 0, std140) uniform Params {
  int channels, h, w, oh;
  int ow, windows, k, stride;
  int pad, counts_padding, unused_1, unused_2;
  uvec4 x_step, y_step, place_step;
} p;

READS(1, x)
WRITES(2, y)
layout(set = 0, binding = 3, std430) writeonly buffer places_block { uint place_words[]; };  // of 64 bits

// Elements x to y - 1 of an axis, and by how many, z, their sum is divided.
ivec3 WindowAt(int i, int from, int to) {
  if (KIND == 1u) {
    const int first = i * from / to, last = ((i + 1) * from + to - 1) / to;
    return ivec3(first, last, last - first);
  }
  const int begin = i * p.stride - p.pad, end = begin + p.k;
  const int first = max(begin, 0), last = min(end, from);
  return ivec3(first, last, p.counts_padding != 0 ? min(end, from + p.pad) - begin : last - first);
}

uint OffsetOf(uvec4 step, ivec4 at) {
  return uint(at.x) * step.x + uint(at.y) * step.y + uint(at.z) * step.z + uint(at.w) * step.w;
}

void Maximum(ivec4 to, ivec3 rows, ivec3 columns) {
  real best = Load_x(OffsetOf(p.x_step, ivec4(to.xy, rows.x, columns.x)));
  int found = rows.x * p.w + columns.x;
  for (int row = rows.x; row < rows.y; ++row) {
    for (int column = columns.x; column < columns.y; ++column) {
      const real element = Load_x(OffsetOf(p.x_step, ivec4(to.xy, row, column)));
      if (element > best || (IsNan(element) && !IsNan(best))) {
        best = element;
        found = row * p.w + column;
      }
    }
  }
  Store_y(OffsetOf(p.y_step, to), best);
  const uint place = push.base[2] + OffsetOf(p.place_step, to);
  place_words[2 * place] = uint(found), place_words[2 * place + 1] = 0u;
}

void Sum(ivec4 to, ivec3 rows, ivec3 columns) {
  precise real sum = real(0);
  for (int row = rows.x; row < rows.y; ++row) {
    for (int column = columns.x; column < columns.y; ++column) {
      const real element = Load_x(OffsetOf(p.x_step, ivec4(to.xy, row, column)));
      sum += KIND == 3u ? element * element : KIND == 2u ? abs(element) : element;
    }
  }
  if (KIND <= 1u) sum = sum / real(rows.z * columns.z);
  if (KIND == 3u) sum = sqrt(sum);
  Store_y(OffsetOf(p.y_step, to), sum);
}

void main() {
  const uint i = Group() * LANES + gl_LocalInvocationID.x;
  if (Group() >= push.groups || i >= uint(p.windows)) return;
  const int window = int(i), plane = window / p.ow / p.oh;
  const ivec4 to = ivec4(plane / p.channels, plane % p.channels, window / p.ow % p.oh, window % p.ow);
  const ivec3 rows = WindowAt(to.z, p.h, p.oh), columns = WindowAt(to.w, p.w, p.ow);
  if (KIND == 4u) {
    Maximum(to, rows, columns);
  } else {
    Sum(to, rows, columns);
  }
}
