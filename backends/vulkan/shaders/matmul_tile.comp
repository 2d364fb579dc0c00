#version 450
// SPDX-License-Identifier: Apache-2.0
// A workgroup computes ROWS x (COLUMNS * lanes) outputs. Panels of A lie in shared memory, where every lane reads the
// same element at a time; a column of B belongs to one lane, so that neighbouring lanes read neighbouring columns.
// Each element's products are added in ascending k.
#include "types.glsl"
#include "matmul.glsl"

layout(constant_id = 7) const uint ROWS = 8;
layout(constant_id = 8) const uint COLUMNS = 2;
layout(constant_id = 9) const uint DEPTH = 16;

shared real panel[DEPTH * ROWS];

void main() {
  const uint group = Group(), lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;
  if (group >= push.groups) return;
  const uint row_tiles = (p.m + ROWS - 1) / ROWS, column_tiles = (p.n + COLUMNS * lanes - 1) / (COLUMNS * lanes);
  const uint first_row = group / column_tiles % row_tiles * ROWS, batch = group / column_tiles / row_tiles;
  const uint first_column = group % column_tiles * COLUMNS * lanes + lane;

  real sum[ROWS * COLUMNS];
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; ++i) sum[i] = real(0);
  for (uint k0 = 0; k0 < Opaque(p.k); k0 += DEPTH) {
    barrier();
    for (uint e = lane; e < DEPTH * ROWS; e += lanes) {
      const uint row = first_row + e / DEPTH, k = k0 + e % DEPTH;
      const bool inside = row < p.m && k < p.k;
      panel[e % DEPTH * ROWS + e / DEPTH] =
          inside ? Load_a(batch * p.a_batch + row * p.a_row + k * p.a_column) : real(0);
    }
    barrier();
    [[dont_unroll]] for (uint d = 0; d < DEPTH; ++d) {
      real factor[COLUMNS];
      [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
        const uint column = first_column + c * lanes;
        const bool inside = column < p.n && k0 + d < p.k;
        factor[c] = inside ? Load_b(batch * p.b_batch + (k0 + d) * p.b_row + column * p.b_column) : real(0);
      }
      [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        const real shared_factor = panel[d * ROWS + r];
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
          sum[r * COLUMNS + c] = MultiplyAdd(shared_factor, factor[c], sum[r * COLUMNS + c]);
        }
      }
    }
  }
  ADDRESSABLE(results, sum, ROWS * COLUMNS);
  [[dont_unroll]] for (uint r = 0; r < ROWS && first_row + r < p.m; ++r) {
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
      const uint column = first_column + c * lanes;
      if (column < p.n) Finish(batch, first_row + r, column, results[r * COLUMNS + c]);
    }
  }
}
