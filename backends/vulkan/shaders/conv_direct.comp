#version 450
// SPDX-License-Identifier: Apache-2.0
// A lane computes OUTPUTS channels at one position, tap after tap; what lies in the padding is left out.
#include "types.glsl"
#include "conv.glsl"
layout(constant_id = 7) const uint OUTPUTS = 4;

void main() {
  const uint numbers = p.images * p.positions, lanes = gl_WorkGroupSize.x;
  const uint position_tiles = (numbers + lanes - 1u) / lanes, blocks = (p.group_outputs + OUTPUTS - 1u) / OUTPUTS;
  const uint tile = Group();
  if (tile >= push.groups) return;
  const uint group = tile / position_tiles / blocks, first = tile / position_tiles % blocks * OUTPUTS;
  const Place place = PlaceOf(tile % position_tiles * lanes + gl_LocalInvocationID.x, group);
  if (!place.inside) return;

  real sum[OUTPUTS];
  uint w_start[OUTPUTS];
  [[unroll]] for (uint o = 0; o < OUTPUTS; ++o) {
    sum[o] = real(0);
    w_start[o] = (group * p.group_outputs + min(first + o, p.group_outputs - 1u)) * p.w_output;
  }
  const ivec3 kernel = p.kernel.xyz + int(Opaque(0u));
  for (uint c = 0; c < Opaque(p.group_inputs); ++c) {
    for (int t0 = 0; t0 < kernel.x; ++t0) {
      for (int t1 = 0; t1 < kernel.y; ++t1) {
        for (int t2 = 0; t2 < kernel.z; ++t2) {
          const ivec3 tap = ivec3(t0, t1, t2), apart = tap * p.dilation.xyz;
          if (!Sees(place.first + apart)) continue;
          const uvec3 x_parts = uvec3(apart) * p.x.xyz, w_parts = uvec3(tap) * p.w.xyz;
          const real value = Load_x(place.x_start + c * p.x.w + x_parts.x + x_parts.y + x_parts.z);
          const uint w_at = c * p.w.w + w_parts.x + w_parts.y + w_parts.z;
          [[unroll]] for (uint o = 0; o < OUTPUTS; ++o) sum[o] = MultiplyAdd(value, Load_w(w_start[o] + w_at), sum[o]);
        }
      }
    }
  }
  [[unroll]] for (uint o = 0; o < OUTPUTS; ++o) {
    if (first + o < p.group_outputs) Finish(place, group * p.group_outputs + first + o, sum[o]);
  }
}
