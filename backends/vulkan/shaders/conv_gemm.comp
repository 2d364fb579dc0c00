#version 450
// SPDX-License-Identifier: Apache-2.0
// Convolution as a matrix product that is never formed: rows are output channels, columns positions, and k runs over
// channels and taps. Of LANES terms each lane loads the weights and the term's place, and all get them by broadcast.
// Padding counts as zeros.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "types.glsl"
#include "conv.glsl"
layout(constant_id = 7) const uint LANES = 8;  // the subgroup's size
layout(constant_id = 8) const uint ROWS = 8;
layout(constant_id = 9) const uint COLUMNS = 2;
layout(constant_id = 10) const uint STEPS = 1;  // unrolled steps over the lanes; divides LANES

layout(set = 0, binding = 5, std430) readonly buffer Terms { uvec4 terms[]; };  // .x: offset in x, .y: in w, then taps

void main() {
  if (Group() >= push.groups) return;
  const uint tile = Group() * gl_NumSubgroups + gl_SubgroupID, lane = gl_SubgroupInvocationID;
  const uint width = COLUMNS * LANES, column_tiles = (p.images * p.positions + width - 1u) / width;
  const uint blocks = (p.group_outputs + ROWS - 1u) / ROWS;
  const uint group = tile / column_tiles / blocks, first_row = tile / column_tiles % blocks * ROWS;
  if (group >= p.groups) return;

  Place places[COLUMNS];
  [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
    places[c] = PlaceOf(tile % column_tiles * width + c * LANES + lane, group);
  }
  real sum[ROWS * COLUMNS];
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; ++i) sum[i] = real(0);
  const uint count = Opaque(p.group_inputs * p.taps);
  for (uint k0 = 0; k0 < count; k0 += LANES) {
    const uvec4 own_term = terms[min(k0 + lane, count - 1u)];
    real own[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
      const uint channel = group * p.group_outputs + first_row + r;
      const bool inside = first_row + r < p.group_outputs && k0 + lane < count;
      own[r] = inside ? Load_w(channel * p.w_output + own_term.y) : real(0);
    }
    uint own_place[3] = {own_term.x, own_term.z, own_term.w};
    [[dont_unroll]] for (uint k = k0; k < k0 + LANES; k += STEPS) {
      [[unroll]] for (uint step = 0; step < STEPS; ++step) {
        const uint offset = subgroupShuffle(own_place[0], step), packed_tap = subgroupShuffle(own_place[1], step);
        const int last_tap = int(subgroupShuffle(own_place[2], step));
        const ivec3 apart = ivec3(packed_tap >> 16, packed_tap & 0xFFFFu, last_tap);
        real value[COLUMNS];
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
          const bool sees = places[c].inside && k + step < count && Sees(places[c].first + apart);
          value[c] = sees ? Load_x(places[c].x_start + offset) : real(0);
        }
        [[unroll]] for (uint r = 0; r < ROWS; ++r) {
          const real weight = subgroupShuffle(own[r], step);
          [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
            sum[r * COLUMNS + c] = MultiplyAdd(weight, value[c], sum[r * COLUMNS + c]);
          }
        }
      }
      ROTATE(own, ROWS, LANES, STEPS);
      ROTATE(own_place, 3, LANES, STEPS);
    }
  }
  ADDRESSABLE(results, sum, ROWS * COLUMNS);
  [[dont_unroll]] for (uint r = 0; r < ROWS && first_row + r < p.group_outputs; ++r) {
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
      if (places[c].inside) Finish(places[c], group * p.group_outputs + first_row + r, results[r * COLUMNS + c]);
    }
  }
}
