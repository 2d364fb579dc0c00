#version 450
// SPDX-License-Identifier: Apache-2.0
// Weights times values: each subgroup ROWS x (COLUMNS * LANES) results, over the keys that its rows see.
#include "attention.glsl"
WRITES(5, o)
layout(set = 0, binding = 6, std430) readonly buffer Scores { real weights[]; };

void main() {
  if (Group() >= push.groups) return;
  const uint tile = Group() * gl_NumSubgroups + gl_SubgroupID, lane = gl_SubgroupInvocationID;
  const uint width = COLUMNS * LANES, column_tiles = (p.dv + width - 1u) / width;
  const uint head = tile / column_tiles / p.row_tiles, first_row = tile / column_tiles % p.row_tiles * ROWS;
  if (head >= p.heads) return;
  const uint kv = p.first_head + head, first_column = tile % column_tiles * width + lane;
  ClearSum();
  ivec2 keys = KeysOfTile(kv, first_row);
  // The first key may hold the NaN of a query that sees nothing.
  const uint first = Opaque(p.masked_nan) != 0u ? 0u : uint(keys.x) / LANES * LANES;
  if (Opaque(p.masked_nan) != 0u) keys.y = max(keys.y, 1);
  for (uint j0 = first; int(j0) < keys.y; j0 += LANES) {
    real own[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
      const uint row = min(first_row + r, RowCount() - 1u);
      own[r] = j0 + lane < p.s ? weights[(head * RowCount() + row) * p.s + j0 + lane] : real(-1);
    }
    AddValues(kv, j0, first_column, own);
  }
  ADDRESSABLE(results, sum, ROWS * COLUMNS);
  [[dont_unroll]] for (uint r = 0; r < ROWS && first_row + r < RowCount(); ++r) {
    const Query query = QueryOf(kv, first_row + r);
    const uint start = query.batch * p.o.x + query.head * p.o.y + query.index * p.o.z;
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
      const uint column = first_column + c * LANES;
      if (column < p.dv) Store_o(start + column * p.o.w, results[r * COLUMNS + c]);
    }
  }
}
