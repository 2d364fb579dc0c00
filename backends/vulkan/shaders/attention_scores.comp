#version 450
// SPDX-License-Identifier: Apache-2.0
// All scores of the heads [first_head, first_head + heads), masked ones marked: each subgroup ROWS x LANES of them.
#include "attention.glsl"
layout(set = 0, binding = 6, std430) writeonly buffer Scores { real scores[]; };  // [heads, rows, s]

void main() {
  if (Group() >= push.groups) return;
  const uint tile = Group() * gl_NumSubgroups + gl_SubgroupID, lane = gl_SubgroupInvocationID;
  const uint key_tiles = (p.s + LANES - 1u) / LANES;
  const uint head = tile / key_tiles / p.row_tiles, first_row = tile / key_tiles % p.row_tiles * ROWS;
  if (head >= p.heads) return;
  const uint key = tile % key_tiles * LANES + lane;
  real score[ROWS];
  ScoreKey(p.first_head + head, first_row, key, score);
  if (key >= p.s) return;
  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    if (first_row + r < RowCount()) scores[(head * RowCount() + first_row + r) * p.s + key] = score[r];
  }
}
