// SPDX-License-Identifier: Apache-2.0
// Shared by the attention kernels. The queries of all heads that use one key head are the rows of one matrix; a
// subgroup takes ROWS of them, and a lane one key (of scores) or one column (of values). A masked key is marked, and
// never used: nothing behind a mask reaches a result.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "types.glsl"
#include "functions.glsl"

layout(constant_id = 7) const uint LANES = 8;      // the subgroup's size
layout(constant_id = 8) const uint ROWS = 8;
layout(constant_id = 9) const uint COLUMNS = 2;    // of values, per lane
layout(constant_id = 10) const uint SUBGROUPS = 4;  // of the workgroup
layout(constant_id = 11) const bool BUILTIN = false;  // the device's exp
layout(constant_id = 12) const uint KEYS = 1;      // of scores, per lane
layout(constant_id = 13) const uint STEPS = 1;     // that divide LANES: unrolled steps over the lanes

layout(set = 0, binding = 0, std140) uniform Params {
  uint heads, group, l, s;  // key heads in all and query heads per key head
  uint d, dv, kv_heads, first_head;
  uint causal, top_left, window, mask_kind;
  uint masked_nan, row_tiles, capped, unused;
  uvec4 q, k, v, o, mask;  // strides of batch, head, row, column
  real scale, softcap;
} p;
const uint kMaskNone = 0, kMaskBool = 1, kMaskAdd = 2;

READS(1, q)
READS(2, k)
READS(3, v)
READS(4, mask)  // what is added; bytes otherwise

// A NaN that no arithmetic makes.
#if defined(VARIANT_F64)
#define MASKED packDouble2x32(uvec2(0x55A5C35Au, 0x7FFC5A3Cu))
bool IsMasked(double x) {
  return unpackDouble2x32(x) == uvec2(0x55A5C35Au, 0x7FFC5A3Cu);
}
#else
#define MASKED uintBitsToFloat(0x7FE5A35Cu)
bool IsMasked(float x) {
  return floatBitsToUint(x) == 0x7FE5A35Cu;
}
#endif

real Weigh(real x) {
#if !defined(VARIANT_F64)
  if (BUILTIN) return exp(x);
#endif
  return Exp(x);
}

// Row `row` of key head `kv`.
struct Query {
  uint batch, head, index;
  int first, last;  // the keys that causality and window leave
};

Query QueryOf(uint kv, uint row) {
  Query query;
  query.batch = kv / p.kv_heads;
  query.head = kv % p.kv_heads * p.group + row / p.l;
  query.index = row % p.l;
  const int at = int(query.index) + (p.top_left != 0u ? 0 : int(p.s) - int(p.l));
  int first = 0, last = int(p.s);
  if (Opaque(p.causal) != 0u) last = min(last, at + 1);
  if (Opaque(p.window) > 0u) {
    const int reach = int(min(p.window, p.l + p.s));
    first = max(first, at - reach + 1);
    last = min(last, at + reach);
  }
  query.last = max(last, 0);
  query.first = min(first, query.last);
  return query;
}

uint RowCount() {
  return p.group * p.l;
}

// Scales, caps and masks the product of a query and a key.
real ScoreOf(Query query, uint key, real dot_product) {
  if (int(key) < query.first || int(key) >= query.last) return MASKED;
  precise real score = dot_product * p.scale;
  if (Opaque(p.capped) != 0u) score = p.softcap * Tanh(score / p.softcap);
  const uint mask_kind = Opaque(p.mask_kind);
  if (mask_kind == kMaskNone) return score;
  const uint at = query.batch * p.mask.x + query.head * p.mask.y + query.index * p.mask.z + key * p.mask.w;
  if (mask_kind == kMaskBool) {
    const uint byte_at = push.base[3] + at;
    return ByteOf(mask_words[byte_at >> 2], byte_at) == 0 ? MASKED : score;
  }
  const real mask = Load_mask(at);
  if (mask == MINUS_INFINITY) return MASKED;
  score += mask;
  return score;
}

real score[ROWS * KEYS];

// Sets score[r * KEYS + i] to the product of row first_row + r with key first_key + i * LANES, which ScoreOf takes. To
// be called by whole subgroups.
void MultiplyKeys(uint kv, uint first_row, uint first_key) {
  const uint lane = gl_SubgroupInvocationID;
  uint k_start[KEYS], q_start[ROWS];
  [[unroll]] for (uint i = 0; i < KEYS; ++i) {
    const uint key = min(first_key + i * LANES, p.s - 1u);
    k_start[i] = kv / p.kv_heads * p.k.x + kv % p.kv_heads * p.k.y + key * p.k.z;
  }
  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    const Query query = QueryOf(kv, min(first_row + r, RowCount() - 1u));
    q_start[r] = query.batch * p.q.x + query.head * p.q.y + query.index * p.q.z;
  }
  [[unroll]] for (uint i = 0; i < ROWS * KEYS; ++i) score[i] = real(0);
  for (uint c0 = 0; c0 < Opaque(p.d); c0 += LANES) {
    real own[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
      own[r] = c0 + lane < p.d ? Load_q(q_start[r] + (c0 + lane) * p.q.w) : real(0);
    }
    [[dont_unroll]] for (uint c = c0; c < c0 + LANES; c += STEPS) {
      [[unroll]] for (uint step = 0; step < STEPS; ++step) {
        real factor[KEYS];
        [[unroll]] for (uint i = 0; i < KEYS; ++i) {
          factor[i] = c + step < p.d ? Load_k(k_start[i] + (c + step) * p.k.w) : real(0);
        }
        [[unroll]] for (uint r = 0; r < ROWS; ++r) {
          const real other = subgroupShuffle(own[r], step);
          [[unroll]] for (uint i = 0; i < KEYS; ++i) {
            score[r * KEYS + i] = MultiplyAdd(other, factor[i], score[r * KEYS + i]);
          }
        }
      }
      ROTATE(own, ROWS, LANES, STEPS);
    }
  }
}

real sum[ROWS * COLUMNS];  // of weighted values

void ClearSum() {
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; ++i) sum[i] = real(0);
}

// sum[r] += weight of key (first_key + i) for row r times its values, for LANES keys. own[r] is the weight of this
// lane's key, negative when it is masked. To be called by whole subgroups.
void AddValues(uint kv, uint first_key, uint first_column, real own[ROWS]) {
  const uint v_start = kv / p.kv_heads * p.v.x + kv % p.kv_heads * p.v.y;
  [[dont_unroll]] for (uint k = first_key; k < first_key + LANES; k += STEPS) {
    [[unroll]] for (uint step = 0; step < STEPS; ++step) {
      real value[COLUMNS];
      [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
        const uint key = min(k + step, p.s - 1u), column = min(first_column + c * LANES, p.dv - 1u);
        value[c] = Load_v(v_start + key * p.v.z + column * p.v.w);
      }
      [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        const real weight = subgroupShuffle(own[r], step);
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
          const real added = MultiplyAdd(weight, value[c], sum[r * COLUMNS + c]);
          sum[r * COLUMNS + c] = weight < real(0) ? sum[r * COLUMNS + c] : added;
        }
      }
    }
    ROTATE(own, ROWS, LANES, STEPS);
  }
}

// The keys that some of ROWS rows from `first_row` on see.
ivec2 KeysOfTile(uint kv, uint first_row) {
  ivec2 keys = ivec2(p.s, 0);
  [[dont_unroll]] for (uint r = 0; r < ROWS; ++r) {
    if (first_row + r >= RowCount()) break;
    const Query query = QueryOf(kv, first_row + r);
    if (query.first < query.last) keys = ivec2(min(keys.x, query.first), max(keys.y, query.last));
  }
  return keys;
}
