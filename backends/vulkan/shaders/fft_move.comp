#version 450
// SPDX-License-Identifier: Apache-2.0
// Between the operands and a dense workspace [transforms, points]. DIRECTION 0: x to the workspace; 1: the workspace
// to y, scaled. The way back of a transform is the way there with both parts of every number exchanged.
#include "fft.glsl"
layout(constant_id = 7) const uint DIRECTION = 0;

layout(set = 0, binding = 0, std140) uniform Params {
  uint count, points, first_batch, axes_count;  // elements moved, points of one transform
  uint batch_stride, real_operand, mirrored, swapped;
  uint has_scale, row, full_row, unused;  // elements per row moved, and of a row in the workspace
  Axis axes[kMaxAxes];                    // of the operand: size, stride; the last one cut to its stored half
  real scale;
} p;

layout(set = 0, binding = 1, std430) buffer Operand { uint words[]; };
layout(set = 0, binding = 2, std430) buffer Workspace { complex work[]; };

void PutReal(uint i, real value) {
#if defined(VARIANT_F64)
  const uvec2 bits = unpackDouble2x32(value);
  words[2u * i] = bits.x;
  words[2u * i + 1u] = bits.y;
#else
  words[i] = floatBitsToUint(value);
#endif
}

// Offset of the element at `index` of one transform as it is stored, by full axes (mirror image of what a half of the
// last axis leaves out) or by stored ones.
uint OffsetOf(uint index, out bool conjugate) {
  uint offset = 0u;
  conjugate = false;
  for (uint a = Opaque(p.axes_count); a-- > 0u;) {
    const bool last = a == p.axes_count - 1u;
    const uint size = last ? (DIRECTION == 0u ? p.full_row : p.row) : p.axes[a].size;
    uint at = index % size;
    index /= size;
    if (last && Opaque(p.mirrored) != 0u && at >= p.axes[a].size) conjugate = true;
    if (conjugate) at = at == 0u ? 0u : size - at;
    offset += at * p.axes[a].in_stride;
  }
  return offset;
}

void main() {
  if (Group() >= push.groups) return;
  const uint number = Group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (number >= p.count) return;
  const uint per_batch = DIRECTION == 0u ? p.points : p.points / p.full_row * p.row;
  const uint batch = number / per_batch, index = number % per_batch;
  bool conjugate;
  const uint at = push.base[0] + (p.first_batch + batch) * p.batch_stride + OffsetOf(index, conjugate);
  if (DIRECTION == 0u) {
    complex value = complex(0);
    if (Opaque(p.real_operand) != 0u) {
      value.x = FROM_WORDS(words, at);
    } else {
      value = complex(FROM_WORDS(words, 2u * at), FROM_WORDS(words, 2u * at + 1u));
    }
    if (conjugate) value.y = -value.y;
    work[batch * p.points + index] = Opaque(p.swapped) != 0u ? value.yx : value;
    return;
  }
  complex value = work[batch * p.points + index / p.row * p.full_row + index % p.row];
  if (Opaque(p.swapped) != 0u) value = value.yx;
  if (Opaque(p.has_scale) != 0u) value = value * p.scale;
  if (Opaque(p.real_operand) != 0u) {
    PutReal(at, value.x);
  } else {
    PutReal(2u * at, value.x);
    PutReal(2u * at + 1u, value.y);
  }
}
