// SPDX-License-Identifier: Apache-2.0
// Blocks of GROUP keys with running maximum and sum (Dao et al., arXiv 2205.14135). A group has QUERIES queries of one
// head; each item has one key of a block, and COLUMNS vectors of the output. Blocks begin at multiples of GROUP, so that a
// query's bits do not depend on the queries beside it. `rows` has room for QUERIES rows of q in whole vectors.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void flash(
    const global TYPE(T)* q, long q_at, const global TYPE(T)* k, long k_at, const global TYPE(T)* v, long v_at,
    const global void* mask, long mask_at, global TYPE(T)* o, long o_at, Params p, local ACC* rows) {
  local ACC weights[QUERIES * GROUP], top[QUERIES], sum[QUERIES], rescale[QUERIES];
  local int seen[QUERIES];
  const int item = (int)get_local_id(0), depth = ((int)p.d + WIDTH - 1) / WIDTH;
  const long batch = get_group_id(2), head = get_group_id(1), query = get_group_id(0) * QUERIES;
  const int queries = (int)min((long)QUERIES, p.l - query);
  k += k_at + RowOf(p.k, batch, head / p.group, 0), v += v_at + RowOf(p.v, batch, head / p.group, 0);

  for (int e = item; e < QUERIES * depth; e += GROUP) {
    const int row = e / depth, c = e % depth * WIDTH;
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
      for (int c = 0; c < depth; ++c) {
        const VEC factor = Line(k, key * p.k[2] + c * WIDTH * p.k[3], p.k[3], p.d - c * WIDTH);
#pragma unroll
        for (int row = 0; row < QUERIES; ++row) dot[row] = MAD(VLOAD(row * depth + c, rows), factor, dot[row]);
      }
    }
    int masked[QUERIES];
    for (int row = 0; row < QUERIES; ++row) {
      ACC add = -(ACC)INFINITY;
      if (row < queries && key < p.s) {
        add = MaskOf(&p, mask, mask_at + RowOf(p.mask, batch, head, query + row), KeysOf(&p, query + row), key);
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
