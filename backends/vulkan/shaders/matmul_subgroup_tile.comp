#version 450
// SPDX-License-Identifier: Apache-2.0
// Each subgroup computes ROWS x (COLUMNS * LANES) outputs, a lane COLUMNS columns of B. Of each row of A a lane loads
// one element, and all get it by a broadcast: LANES steps of k for one load. No shared memory, no barrier. Each
// element's products are added in ascending k.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "types.glsl"
#include "matmul.glsl"

layout(constant_id = 7) const uint LANES = 8;  // the subgroup's size
layout(constant_id = 8) const uint ROWS = 16;
layout(constant_id = 9) const uint COLUMNS = 4;
layout(constant_id = 10) const uint STEPS = 1;  // unrolled steps over the lanes; divides LANES

const uint kWidth = COLUMNS * LANES;

void main() {
  const uint group = Group(), lane = gl_SubgroupInvocationID;
  if (group >= push.groups) return;
  const uint tile_rows = ROWS * gl_NumSubgroups;
  const uint row_tiles = (p.m + tile_rows - 1) / tile_rows, column_tiles = (p.n + kWidth - 1) / kWidth;
  const uint batch = group / column_tiles / row_tiles, first_column = group % column_tiles * kWidth;
  const uint first_row = group / column_tiles % row_tiles * tile_rows + gl_SubgroupID * ROWS;

  real sum[ROWS * COLUMNS];
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; ++i) sum[i] = real(0);
  for (uint k0 = 0; k0 < Opaque(p.k); k0 += LANES) {
    real own[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
      const bool inside = first_row + r < p.m && k0 + lane < p.k;
      own[r] = inside ? Load_a(batch * p.a_batch + (first_row + r) * p.a_row + (k0 + lane) * p.a_column) : real(0);
    }
    [[dont_unroll]] for (uint k1 = k0; k1 < k0 + LANES; k1 += STEPS) {
      [[unroll]] for (uint step = 0; step < STEPS; ++step) {
        const uint k = k1 + step;
        real factor[COLUMNS];
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
          const uint column = first_column + c * LANES + lane;
          const bool inside = k < p.k && column < p.n;
          factor[c] = inside ? Load_b(batch * p.b_batch + k * p.b_row + column * p.b_column) : real(0);
        }
        [[unroll]] for (uint r = 0; r < ROWS; ++r) {
          const real broadcast = subgroupShuffle(own[r], step);
          [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
            sum[r * COLUMNS + c] = MultiplyAdd(broadcast, factor[c], sum[r * COLUMNS + c]);
          }
        }
      }
      ROTATE(own, ROWS, LANES, STEPS);
    }
  }
  ADDRESSABLE(results, sum, ROWS * COLUMNS);
  [[dont_unroll]] for (uint r = 0; r < ROWS && first_row + r < p.m; ++r) {
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
      const uint column = first_column + c * LANES + lane;
      if (column < p.n) Finish(batch, first_row + r, column, results[r * COLUMNS + c]);
    }
  }
}
