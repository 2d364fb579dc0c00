#version 450
// SPDX-License-Identifier: Apache-2.0
// Attention in one pass over blocks of TILES * LANES keys with running maximum and sum (Dao et al., arXiv 2205.14135).
// Subgroups share the tiles of a block, then the rows of its weights, then the columns of the values. Blocks start at
// multiples of their size, so that a row's result does not depend on its neighbours.
#include "attention.glsl"
WRITES(5, o)

const uint TILES = 4;  // a multiple of SUBGROUPS
const uint kBlock = TILES * LANES;
shared real weights[ROWS * kBlock];
shared real row_max[ROWS], row_sum[ROWS], row_factor[ROWS];
shared bool row_seen[ROWS];

void Synchronise() {
  if (SUBGROUPS > 1u) {
    barrier();
  } else {
    subgroupMemoryBarrierShared();
    subgroupBarrier();
  }
}

// The block's scores of one row become weights, by one subgroup.
void WeighRow(uint r) {
  const uint lane = gl_SubgroupInvocationID;
  real greatest = row_max[r];
  uint seen = 0u;
  [[unroll]] for (uint t = 0; t < TILES; ++t) {
    const real score = weights[r * kBlock + t * LANES + lane];
    if (IsMasked(score)) continue;
    seen = 1u;
    if (score > greatest) greatest = score;
  }
  for (uint apart = LANES / 2u; apart > 0u; apart /= 2u) {
    const real other = subgroupShuffleXor(greatest, apart);
    if (other > greatest) greatest = other;
    seen |= subgroupShuffleXor(seen, apart);
  }
  precise real total = real(0);
  [[unroll]] for (uint t = 0; t < TILES; ++t) {
    const uint at = r * kBlock + t * LANES + lane;
    const real score = weights[at];
    real weight = real(-1);
    if (!IsMasked(score)) {
      weight = score == MINUS_INFINITY ? real(0) : Weigh(score - greatest);
      total += weight;
    }
    weights[at] = weight;
  }
  for (uint apart = LANES / 2u; apart > 0u; apart /= 2u) total = total + subgroupShuffleXor(total, apart);
  if (lane != 0u) return;
  const real before = row_max[r], factor = before == greatest ? real(1) : Weigh(before - greatest);
  total = row_sum[r] * factor + total;
  row_factor[r] = factor;
  row_max[r] = greatest;
  row_sum[r] = total;
  row_seen[r] = row_seen[r] || seen != 0u;
}

void main() {
  const uint group = Group(), lane = gl_SubgroupInvocationID;
  if (group >= push.groups) return;
  const uint kv = group / p.row_tiles, first_row = group % p.row_tiles * ROWS;
  const uint first_column = gl_SubgroupID * COLUMNS * LANES + lane;
  if (gl_LocalInvocationID.x < ROWS) {
    row_max[gl_LocalInvocationID.x] = MINUS_INFINITY;
    row_sum[gl_LocalInvocationID.x] = real(0);
    row_seen[gl_LocalInvocationID.x] = false;
  }
  ClearSum();

  Synchronise();
  const ivec2 keys = KeysOfTile(kv, first_row);
  for (uint block = uint(keys.x) / kBlock * kBlock; int(block) < keys.y; block += kBlock) {
    for (uint t = gl_SubgroupID; t < TILES; t += SUBGROUPS) {
      const uint own_key = t * LANES + lane;
      real score[ROWS];
      ScoreKey(kv, first_row, block + own_key, score);
      [[unroll]] for (uint r = 0; r < ROWS; ++r) weights[r * kBlock + own_key] = score[r];
    }
    Synchronise();
    for (uint r = gl_SubgroupID; r < ROWS; r += SUBGROUPS) WeighRow(r);
    Synchronise();
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
      const real factor = row_factor[r];
      [[unroll]] for (uint c = 0; c < COLUMNS; ++c) sum[r * COLUMNS + c] *= factor;
    }
    for (uint t = 0; t < TILES && int(block + t * LANES) < keys.y; ++t) {
      real own[ROWS];
      [[unroll]] for (uint r = 0; r < ROWS; ++r) own[r] = weights[r * kBlock + t * LANES + lane];
      AddValues(kv, block + t * LANES, first_column, own);
    }
    Synchronise();
  }
  Synchronise();
  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    if (first_row + r >= RowCount()) break;
    const Query query = QueryOf(kv, first_row + r);
    const uint start = query.batch * p.o.x + query.head * p.o.y + query.index * p.o.z;
    [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
      const uint column = first_column + c * LANES;
      if (column >= p.dv) break;
      real value = sum[r * COLUMNS + c] / row_sum[r];
      if (!row_seen[r]) value = p.masked_nan != 0u ? NOT_A_NUMBER : real(0);
      Store_o(start + column * p.o.w, value);
    }
  }
}
