#version 450
// SPDX-License-Identifier: Apache-2.0
// All scores of the heads [first_head, first_head + heads), masked ones marked: each subgroup ROWS x (KEYS * LANES) of
// them.
#include "attention.glsl"
layout(set = 0, binding = 6, std430) writeonly buffer Scores { real scores[]; };  // [heads, rows, s]

void main() {
  if (Group() >= push.groups) return;
  const uint tile = Group() * gl_NumSubgroups + gl_SubgroupID, lane = gl_SubgroupInvocationID;
  const uint width = KEYS * LANES, key_tiles = (p.s + width - 1u) / width;
  const uint head = tile / key_tiles / p.row_tiles, first_row = tile / key_tiles % p.row_tiles * ROWS;
  if (head >= p.heads) return;
  const uint first_key = tile % key_tiles * width + lane;
  MultiplyKeys(p.first_head + head, first_row, first_key);
  ADDRESSABLE(products, score, ROWS * KEYS);
  [[dont_unroll]] for (uint r = 0; r < ROWS && first_row + r < RowCount(); ++r) {
    const uint start = (head * RowCount() + first_row + r) * p.s;
    const Query query = QueryOf(p.first_head + head, first_row + r);
    [[dont_unroll]] for (uint i = 0; i < KEYS; ++i) {
      const uint key = first_key + i * LANES;
      if (key < p.s) scores[start + key] = ScoreOf(query, key, products[r * KEYS + i]);
    }
  }
}
