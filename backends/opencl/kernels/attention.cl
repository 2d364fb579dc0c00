// SPDX-License-Identifier: Apache-2.0
// softmax(scale q k^T + mask) v with type T throughout, mask type M (BOOL_MASK, ADD_MASK or neither), scores and
// probabilities in the accumulator's type. A probability below zero stands for a masked key, whose value is never used.
#define MASKED ((ACC)-1)

DEFINE_LINE(Line, T)

typedef struct {
  long batch, heads, group, l, s, d, dv;  // `group` query heads share a key head
  long causal, window, shift;             // query i stands at key i + shift; window 0: none
  long masked_nan, scale, softcap, capped;
  long q[4], k[4], v[4], o[4], mask[4];  // strides of batch, head, row, column
} Params;

typedef struct {
  long first, last;
} Keys;

Keys KeysOf(const Params* p, long i) {
  const long at = i + p->shift, reach = min(p->window, p->l + p->s);
  Keys keys = {0, p->s};
  if (p->causal) keys.last = min(keys.last, at + 1);
  if (p->window > 0) keys.first = max(keys.first, at - reach + 1), keys.last = min(keys.last, at + reach);
  keys.last = max(keys.last, 0L);
  keys.first = min(keys.first, keys.last);
  return keys;
}

long RowOf(const long* strides, long batch, long head, long row) {
  return batch * strides[0] + head * strides[1] + row * strides[2];
}

// What the mask adds to the score of key j, or -inf: masked. `mask` points at the query's row.
ACC MaskOf(const Params* p, const global TYPE(M)* mask, Keys keys, long j) {
  if (j < keys.first || j >= keys.last) return -(ACC)INFINITY;
#if defined(BOOL_MASK)
  return mask[j * p->mask[3]] != 0 ? (ACC)0 : -(ACC)INFINITY;
#elif defined(ADD_MASK)
  return LOAD(M, mask, j * p->mask[3]);
#else
  return 0;
#endif
}

ACC FinishScore(const Params* p, ACC dot, ACC mask) {
  ACC score = dot * SCALAR(p->scale);
  if (p->capped) score = SCALAR(p->softcap) * tanh(score / SCALAR(p->softcap));
  return score + mask;
}

ACC EmptyRow(const Params* p) { return p->masked_nan ? (ACC)NAN : (ACC)0; }

// ---- flash: blocks of GROUP keys with running maximum and sum (Dao et al., arXiv 2205.14135). A group has QUERIES
// queries of one head; each item has one key of a block, and COLUMNS vectors of the output; a row of q has DEPTH vectors. Blocks begin at multiples of
// GROUP, so that a query's bits do not depend on the queries beside it.
#if defined(QUERIES)
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void flash(
    const global TYPE(T)* q, long q_at, const global TYPE(T)* k, long k_at, const global TYPE(T)* v, long v_at,
    const global TYPE(M)* mask, long mask_at, global TYPE(T)* o, long o_at, Params p) {
  local ACC rows[QUERIES * DEPTH * WIDTH], weights[QUERIES * GROUP], top[QUERIES], sum[QUERIES], rescale[QUERIES];
  local int seen[QUERIES];
  const int item = (int)get_local_id(0);
  const long batch = get_group_id(2), head = get_group_id(1), query = get_group_id(0) * QUERIES;
  const int queries = (int)min((long)QUERIES, p.l - query);
  k += k_at + RowOf(p.k, batch, head / p.group, 0), v += v_at + RowOf(p.v, batch, head / p.group, 0);

  for (int e = item; e < QUERIES * DEPTH; e += GROUP) {
    const int row = e / DEPTH, c = e % DEPTH * WIDTH;
    const long count = row < queries ? p.d - c : 0;
    VSTORE(Line(q, q_at + RowOf(p.q, batch, head, query + row) + c * p.q[3], p.q[3], count), e, rows);
  }
  if (item < QUERIES) top[item] = -(ACC)INFINITY, sum[item] = 0, seen[item] = 0;
  VEC out[QUERIES][COLUMNS];
  for (int row = 0; row < QUERIES; ++row) {
    for (int c = 0; c < COLUMNS; ++c) out[row][c] = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  const long last = KeysOf(&p, query + queries - 1).last;
  for (long block = KeysOf(&p, query).first / GROUP * GROUP; block < last; block += GROUP) {
    const long key = block + item;
    VEC dot[QUERIES];
    for (int row = 0; row < QUERIES; ++row) dot[row] = 0;
    if (key < p.s) {
      for (int c = 0; c < DEPTH; ++c) {
        const VEC factor = Line(k, key * p.k[2] + c * WIDTH * p.k[3], p.k[3], p.d - c * WIDTH);
#pragma unroll
        for (int row = 0; row < QUERIES; ++row) dot[row] = MAD(VLOAD(row * DEPTH + c, rows), factor, dot[row]);
      }
    }
    int masked[QUERIES];
    for (int row = 0; row < QUERIES; ++row) {
      ACC add = -(ACC)INFINITY;
      if (row < queries && key < p.s) {
        add = MaskOf(&p, mask + mask_at + RowOf(p.mask, batch, head, query + row), KeysOf(&p, query + row), key);
      }
      masked[row] = add == -(ACC)INFINITY;
      weights[row * GROUP + item] = masked[row] ? add : FinishScore(&p, Total(dot[row]), add);
      if (!masked[row]) seen[row] = 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < QUERIES) {
      ACC greatest = top[item];
      for (int j = 0; j < GROUP; ++j) greatest = Greatest(greatest, weights[item * GROUP + j]);
      rescale[item] = greatest == top[item] ? (ACC)1 : exp(top[item] - greatest);
      top[item] = greatest;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int row = 0; row < QUERIES; ++row) {
      // A block of scores of -inf alone adds nothing yet; in the end that is 0 / 0, as the formula says.
      const bool none = masked[row] || top[row] == -(ACC)INFINITY;
      weights[row * GROUP + item] = none ? MASKED : exp(weights[row * GROUP + item] - top[row]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < QUERIES) {
      ACC total = sum[item] * rescale[item];
      for (int j = 0; j < GROUP; ++j) total += weights[item * GROUP + j] < 0 ? 0 : weights[item * GROUP + j];
      sum[item] = total;
    }
    const int keys = (int)min((long)GROUP, p.s - block);
    for (int c = 0; c < COLUMNS; ++c) {
      const long column = (item + c * GROUP) * WIDTH;
      if (column >= p.dv) continue;
      VEC part[QUERIES];
      for (int row = 0; row < QUERIES; ++row) part[row] = out[row][c] * rescale[row];
      for (int j = 0; j < keys; ++j) {
        const VEC value = Line(v, (block + j) * p.v[2] + column * p.v[3], p.v[3], p.dv - column);
#pragma unroll
        for (int row = 0; row < QUERIES; ++row) {
          const ACC weight = weights[row * GROUP + j];
          part[row] = weight < 0 ? part[row] : MAD((VEC)weight, value, part[row]);
        }
      }
      for (int row = 0; row < QUERIES; ++row) out[row][c] = part[row];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  for (int row = 0; row < queries; ++row) {
    for (int c = 0; c < COLUMNS; ++c) {
      const long column = (item + c * GROUP) * WIDTH;
      ACC values[WIDTH];
      VSTORE(out[row][c], 0, values);
      for (int i = 0; i < WIDTH && column + i < p.dv; ++i) {
        const ACC value = seen[row] ? values[i] / sum[row] : EmptyRow(&p);
        STORE(T, o, o_at + RowOf(p.o, batch, head, query + row) + (column + i) * p.o[3], value);
      }
    }
  }
}
#endif

// ---- materialised: all scores, their softmax, the weighted sum; scores[batch, head, l, s].
// Global size (at least s, l, batch * heads).
kernel void scores(const global TYPE(T)* q, long q_at, const global TYPE(T)* k, long k_at, global ACC* scores,
                   long scores_at, Params p) {
  const long j = get_global_id(0), i = get_global_id(1), batch = get_global_id(2) / p.heads;
  const long head = get_global_id(2) % p.heads;
  if (j >= p.s) return;
  q += q_at + RowOf(p.q, batch, head, i), k += k_at + RowOf(p.k, batch, head / p.group, j);
  VEC dot = 0;
  for (long c = 0; c < p.d; c += WIDTH) {
    dot = MAD(Line(q, c * p.q[3], p.q[3], p.d - c), Line(k, c * p.k[3], p.k[3], p.d - c), dot);
  }
  scores[scores_at + (get_global_id(2) * p.l + i) * p.s + j] = Total(dot);
}

// Group (1, l, batch * heads).
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void normalise(const global TYPE(M)* mask, long mask_at,
                                                                         global ACC* scores, long scores_at,
                                                                         Params p) {
  local ACC values[GROUP];
  const long i = get_group_id(1), batch = get_group_id(2) / p.heads, head = get_group_id(2) % p.heads;
  global ACC* row = scores + scores_at + (get_group_id(2) * p.l + i) * p.s;
  const Keys keys = KeysOf(&p, i);
  mask += mask_at + RowOf(p.mask, batch, head, i);
  ACC own = -(ACC)INFINITY;
  for (long j = get_local_id(0); j < p.s; j += GROUP) {
    const ACC add = MaskOf(&p, mask, keys, j);
    if (add == -(ACC)INFINITY) continue;
    row[j] = FinishScore(&p, row[j], add);
    own = Greatest(own, row[j]);
  }
  const ACC top = GroupGreatest(own, values);
  own = 0;
  for (long j = get_local_id(0); j < p.s; j += GROUP) {
    const bool masked = MaskOf(&p, mask, keys, j) == -(ACC)INFINITY;
    row[j] = masked ? MASKED : exp(row[j] - top);
    if (!masked) own += row[j];
  }
  const ACC sum = GroupSum(own, values);
  for (long j = get_local_id(0); j < p.s; j += GROUP) row[j] = row[j] < 0 ? MASKED : row[j] / sum;
}

// Global size (at least vectors of dv, l, batch * heads).
kernel void values(const global ACC* scores, long scores_at, const global TYPE(T)* v, long v_at, global TYPE(T)* o,
                   long o_at, Params p) {
  const long c = get_global_id(0) * WIDTH, i = get_global_id(1), batch = get_global_id(2) / p.heads;
  const long head = get_global_id(2) % p.heads;
  if (c >= p.dv) return;
  const global ACC* row = scores + scores_at + (get_global_id(2) * p.l + i) * p.s;
  v += v_at + RowOf(p.v, batch, head / p.group, 0) + c * p.v[3];
  VEC sum = 0;
  bool seen = false;
  for (long j = 0; j < p.s; ++j) {
    if (row[j] < 0) continue;
    seen = true;
    sum = MAD((VEC)row[j], Line(v, j * p.v[2], p.v[3], p.dv - c), sum);
  }
  ACC columns[WIDTH];
  VSTORE(sum, 0, columns);
  for (int l = 0; l < WIDTH && c + l < p.dv; ++l) {
    STORE(T, o, o_at + RowOf(p.o, batch, head, i) + (c + l) * p.o[3], seen ? columns[l] : EmptyRow(&p));
  }
}
