#version 450
// SPDX-License-Identifier: Apache-2.0
// max, min (p.flip: all ones), argmax, argmin (p.positions): elements are compared as integers that sort like them, and the winner is the first of the
// greatest keys. No float operation touches them, so that NaN, subnormals and ties are exact on every device.
#include "types.glsl"
#include "axes.glsl"
#include "reduce.glsl"

layout(set = 0, binding = 1, std430) readonly buffer Elements { uint x_words[]; };
#if defined(VARIANT_F32STORE16)
layout(set = 0, binding = 2, std430) writeonly buffer Results { uint16_t y_halves[]; };
#else
layout(set = 0, binding = 2, std430) writeonly buffer Results { uint y_words[]; };
#endif
layout(set = 0, binding = 3, std430) buffer Partials { uvec4 partial[]; };

layout(constant_id = 0) const uint LANES = 64;
shared uvec4 lanes_state[LANES];  // key (high, low), position, found

// The element's bits as (high, low) of 64; narrower types stand in the high word's upper end.
uvec2 BitsOf(uint index) {
  const uint i = push.base[0] + index;
  if (TYPE_1 == kF64) return uvec2(x_words[2u * i + 1u], x_words[2u * i]);
  const uint word = x_words[WordOf(TYPE_1, i)];
  return uvec2(TYPE_1 == kF32 ? word : HalfOf(word, i) << 16, 0u);
}

bool IsNanBits(uvec2 bits) {
  const uint infinity = TYPE_1 == kF64 ? 0x7FF00000u : TYPE_1 == kF16 ? 0x7C000000u : 0x7F800000u;
  const uint magnitude = bits.x & 0x7FFFFFFFu;
  return magnitude > infinity || (magnitude == infinity && bits.y != 0u);
}

// Greater keys win. Both zeros have one key.
uvec2 KeyOf(uvec2 bits) {
  if (IsNanBits(bits)) return Opaque(p.ignore_nan) != 0u ? uvec2(0u) : uvec2(0xFFFFFFFFu);
  if ((bits.x & 0x7FFFFFFFu) == 0u && bits.y == 0u) bits = uvec2(0u);
  const uvec2 key = (bits.x & 0x80000000u) != 0u ? ~bits : uvec2(bits.x | 0x80000000u, bits.y);
  return key ^ p.flip;
}

bool Wins(uvec4 a, uvec4 b) {
  if (a.w != b.w) return a.w != 0u;
  if (a.x != b.x) return a.x > b.x;
  if (a.y != b.y) return a.y > b.y;
  return a.z < b.z;
}

void StoreResult(uint index, Span span, uint position) {
  const uint i = push.base[1] + index;
  if (Opaque(p.positions) != 0u) {
#if !defined(VARIANT_F32STORE16)
    y_words[2u * i] = position;
    y_words[2u * i + 1u] = 0u;
#endif
    return;
  }
  const uvec2 bits = BitsOf(KeptOffsets(span.index).x + ReducedOffsets(position).x);
#if defined(VARIANT_F32STORE16)
  y_halves[i] = uint16_t(bits.x >> 16);
#elif defined(VARIANT_F64)
  y_words[2u * i] = bits.y;
  y_words[2u * i + 1u] = bits.x;
#else
  y_words[i] = bits.x;
#endif
}

void main() {
  const uint group = Group(), lane = gl_LocalInvocationID.x;
  if (group >= push.groups) return;
  const Span span = SpanOf(group);
  const uvec2 at = KeptOffsets(span.index);
  uvec4 best = uvec4(0u);
  for (uint i = span.first + lane; i < span.last; i += LANES) {
    uvec4 next;
    if (FROM_PARTIALS) {
      next = partial[span.index * p.chunks + i];
    } else {
      next = uvec4(KeyOf(BitsOf(at.x + ReducedOffsets(i).x)), i, 1u);
    }
    if (Wins(next, best)) best = next;
  }
  lanes_state[lane] = best;
  for (uint half_way = LANES / 2u; half_way > 0u; half_way /= 2u) {
    barrier();
    if (lane < half_way && Wins(lanes_state[lane + half_way], best)) {
      best = lanes_state[lane + half_way];
      lanes_state[lane] = best;
    }
  }
  if (lane != 0u) return;
  if (Opaque(p.to_partials) != 0u) {
    partial[group] = best;
  } else {
    StoreResult(at.y, span, best.z);
  }
}
