#version 450
// SPDX-License-Identifier: Apache-2.0
// Each subgroup computes ROWS x COLUMNS outputs: its lanes take every LANES-th product of each, and a balanced tree of
// exchanges adds up what they have.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "types.glsl"
#include "matmul.glsl"

layout(constant_id = 7) const uint LANES = 8;  // the subgroup's size
layout(constant_id = 8) const uint ROWS = 4;
layout(constant_id = 9) const uint COLUMNS = 4;

void main() {
  if (Group() >= push.groups) return;
  const uint tile = Group() * gl_NumSubgroups + gl_SubgroupID, lane = gl_SubgroupInvocationID;
  const uint row_tiles = (p.m + ROWS - 1) / ROWS, column_tiles = (p.n + COLUMNS - 1) / COLUMNS;
  const uint batch = tile / column_tiles / row_tiles;
  if (batch >= p.batch) return;
  const uint first_row = tile / column_tiles % row_tiles * ROWS, first_column = tile % column_tiles * COLUMNS;

  real sum[ROWS * COLUMNS];
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; ++i) sum[i] = real(0);
  for (uint k = lane; k < Opaque(p.k); k += LANES) {
    real factor[COLUMNS];
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
      const uint column = min(first_column + c, p.n - 1);
      factor[c] = Load_b(batch * p.b_batch + k * p.b_row + column * p.b_column);
    }
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
      const uint row = min(first_row + r, p.m - 1);
      const real other = Load_a(batch * p.a_batch + row * p.a_row + k * p.a_column);
      [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
        sum[r * COLUMNS + c] = MultiplyAdd(other, factor[c], sum[r * COLUMNS + c]);
      }
    }
  }
  // After the tree every lane holds every total; lane i stores output i.
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; ++i) {
    precise real total = sum[i];
    [[unroll]] for (uint apart = LANES / 2u; apart > 0u; apart /= 2u) total = total + subgroupShuffleXor(total, apart);
    const uint row = first_row + i / COLUMNS, column = first_column + i % COLUMNS;
    if (lane == i % LANES && row < p.m && column < p.n) Finish(batch, row, column, total);
  }
}
