#version 450
// SPDX-License-Identifier: Apache-2.0
// Attention in one pass over blocks of TILES * LANES keys with running maximum and sum (Dao et al., arXiv 2205.14135).
// Subgroups share the tiles of a block, then the rows of its weights, then the columns of the values. Blocks start at
// multiples of their size, so that a row's result does not depend on its neighbours.
#include "attention.glsl"
WRITES(5, o)

const uint TILES = SUBGROUPS * KEYS;
const uint kBlock = TILES * LANES;
shared real weights[ROWS * kBlock];
shared real row_max[ROWS], row_factor[ROWS];
shared real lane_sum[ROWS * LANES];  // of the weights that each lane has seen, per row

void Synchronise() {
  if (SUBGROUPS > 1u) {
    barrier();
  } else {
    subgroupMemoryBarrierShared();
    subgroupBarrier();
  }
}

// The block's scores of one row become weights, by one subgroup. The least finite number stands for scores of -inf and
// NaN, so that a maximum of -inf says that every key is masked.
void WeighRow(uint r) {
  const uint lane = gl_SubgroupInvocationID;
  const real before = row_max[r];
  real own[TILES], greatest = before;
  [[unroll]] for (uint t = 0; t < TILES; ++t) {
    own[t] = weights[r * kBlock + t * LANES + lane];
    const real level = own[t] > LOWEST ? own[t] : LOWEST;
    if (!IsMasked(own[t]) && level > greatest) greatest = level;
  }
  [[unroll]] for (uint apart = LANES / 2u; apart > 0u; apart /= 2u) {
    const real other = subgroupShuffleXor(greatest, apart);
    if (other > greatest) greatest = other;
  }
  precise real total = real(0);
  [[unroll]] for (uint t = 0; t < TILES; ++t) {
    real weight = real(-1);
    if (!IsMasked(own[t])) {
      weight = own[t] == MINUS_INFINITY ? real(0) : Weigh(own[t] - greatest);
      total += weight;
    }
    weights[r * kBlock + t * LANES + lane] = weight;
  }
  const real factor = before == greatest ? real(1) : Weigh(before - greatest);
  total = lane_sum[r * LANES + lane] * factor + total;
  lane_sum[r * LANES + lane] = total;
  if (lane != 0u) return;
  row_factor[r] = factor;
  row_max[r] = greatest;
}

void main() {
  const uint group = Group(), lane = gl_SubgroupInvocationID;
  if (group >= push.groups) return;
  const uint kv = group / p.row_tiles, first_row = group % p.row_tiles * ROWS;
  const uint first_column = gl_SubgroupID * COLUMNS * LANES + lane;
  if (gl_LocalInvocationID.x < ROWS) row_max[gl_LocalInvocationID.x] = MINUS_INFINITY;
  for (uint i = gl_LocalInvocationID.x; i < ROWS * LANES; i += gl_WorkGroupSize.x) lane_sum[i] = real(0);
  ClearSum();

  Synchronise();
  const ivec2 keys = KeysOfTile(kv, first_row);
  for (uint block = uint(keys.x) / kBlock * kBlock; int(block) < keys.y; block += kBlock) {
    const uint own_key = gl_SubgroupID * KEYS * LANES + lane;
    MultiplyKeys(kv, first_row, block + own_key);
    ADDRESSABLE(products, score, ROWS * KEYS);
    [[dont_unroll]] for (uint r = 0; r < ROWS; ++r) {
      const Query query = QueryOf(kv, first_row + r);
      [[dont_unroll]] for (uint i = 0; i < KEYS; ++i) {
        const uint key = block + own_key + i * LANES;
        const bool inside = first_row + r < RowCount() && key < p.s;
        weights[r * kBlock + own_key + i * LANES] = inside ? ScoreOf(query, key, products[r * KEYS + i]) : MASKED;
      }
    }
    Synchronise();
    [[dont_unroll]] for (uint r = gl_SubgroupID; r < ROWS; r += SUBGROUPS) WeighRow(r);
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
  ADDRESSABLE(results, sum, ROWS * COLUMNS);
  [[dont_unroll]] for (uint r = 0; r < ROWS && first_row + r < RowCount(); ++r) {
    precise real total = lane_sum[r * LANES + lane];
    [[unroll]] for (uint apart = LANES / 2u; apart > 0u; apart /= 2u) total = total + subgroupShuffleXor(total, apart);
    const Query query = QueryOf(kv, first_row + r);
    const uint start = query.batch * p.o.x + query.head * p.o.y + query.index * p.o.z;
    [[dont_unroll]] for (uint c = 0; c < COLUMNS; ++c) {
      const uint column = first_column + c * LANES;
      if (column >= p.dv) break;
      real value = results[r * COLUMNS + c] / total;
      if (row_max[r] == MINUS_INFINITY) value = Opaque(p.masked_nan) != 0u ? NOT_A_NUMBER : real(0);
      Store_o(start + column * p.o.w, value);
    }
  }
}
