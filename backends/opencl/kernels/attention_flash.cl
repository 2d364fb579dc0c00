// SPDX-License-Identifier: Apache-2.0
// Blocks of GROUP keys with running maximum and sum (Dao et al., arXiv 2205.14135). A group has QUERIES queries of one
// head; each item has one key of a block, and COLUMNS vectors of the output. Blocks begin at multiples of GROUP, so that a
// query's bits do not depend on the queries beside it. `rows` has room for QUERIES rows of q in whole vectors.

// What of a group the functions need: its first query, and where it begins in k, v and the mask.
typedef struct {
  const Params* p;
  const global TYPE(T)* k;
  const global TYPE(T)* v;
  const global void* mask;
  long mask_at, query;
  int queries, depth;
} Group;

// An item's share of the queries, from the group's first row of q on, in vectors.
ONCE void LoadQueries(const Group* g, const global TYPE(T)* q, int item, local ACC* rows) {
  const Params* p = g->p;
  for (int e = item; e < QUERIES * g->depth; e += GROUP) {
    const int row = e / g->depth, c = e % g->depth * WIDTH;
    VSTORE(Line(q, row * p->q[2] + c * p->q[3], p->q[3], row < g->queries ? p->d - c : 0), e, rows);
  }
}

// Scores of `key` for each query, in weights[row * GROUP].
ONCE void ScoreKey(const Group* g, long key, const local ACC* rows, local ACC* weights, local int* seen,
                   int masked[QUERIES]) {
  const Params* p = g->p;
  VEC dot[QUERIES];
  for (int row = 0; row < QUERIES; ++row) dot[row] = 0;
  if (key < p->s) {
    for (int c = 0; c < g->depth; ++c) {
      const VEC factor = Line(g->k, key * p->k[2] + c * WIDTH * p->k[3], p->k[3], p->d - c * WIDTH);
#pragma unroll
      for (int row = 0; row < QUERIES; ++row) dot[row] = MAD(VLOAD(row * g->depth + c, rows), factor, dot[row]);
    }
  }
  for (int row = 0; row < QUERIES; ++row) {
    ACC add = -(ACC)INFINITY;
    if (row < g->queries && key < p->s) {
      add = MaskOf(p, g->mask, g->mask_at + row * p->mask[2], KeysOf(p, g->query + row), key);
    }
    masked[row] = add == -(ACC)INFINITY;
    weights[row * GROUP] = masked[row] ? add : FinishScore(p, Total(dot[row]), add);
    if (!masked[row]) seen[row] = 1;
  }
}

// The greatest score so far of one row; returns what the sums so far are to be multiplied with.
ONCE ACC RaiseTop(const local ACC* weights, local ACC* top) {
  ACC greatest = *top;
  for (int j = 0; j < GROUP; ++j) greatest = Greatest(greatest, weights[j]);
  const ACC rescale = greatest == *top ? (ACC)1 : exp(*top - greatest);
  *top = greatest;
  return rescale;
}

ONCE void Weigh(local ACC* weights, const local ACC* top, const int masked[QUERIES]) {
  for (int row = 0; row < QUERIES; ++row) {
    // A block of scores of -inf alone adds nothing yet; in the end that is 0 / 0, as the formula says.
    const bool none = masked[row] || top[row] == -(ACC)INFINITY;
    weights[row * GROUP] = none ? MASKED : exp(weights[row * GROUP] - top[row]);
  }
}

ONCE ACC AddWeights(const local ACC* weights, ACC total) {
  for (int j = 0; j < GROUP; ++j) total += weights[j] < 0 ? 0 : weights[j];
  return total;
}

// The values of a block's `keys` keys, weighted, for the columns from `column` on.
ONCE void AddValues(const Group* g, long block, int keys, long column, const local ACC* weights,
                    const local ACC* rescale, VEC out[QUERIES][COLUMNS], int c) {
  const Params* p = g->p;
  VEC part[QUERIES];
  for (int row = 0; row < QUERIES; ++row) part[row] = out[row][c] * rescale[row];
  for (int j = 0; j < keys; ++j) {
    const VEC value = Line(g->v, (block + j) * p->v[2] + column * p->v[3], p->v[3], p->dv - column);
#pragma unroll
    for (int row = 0; row < QUERIES; ++row) {
      const ACC weight = weights[row * GROUP + j];
      part[row] = weight < 0 ? part[row] : MAD((VEC)weight, value, part[row]);
    }
  }
  for (int row = 0; row < QUERIES; ++row) out[row][c] = part[row];
}

// The quotients of WIDTH columns from `column` on, to `o`.
ONCE void WriteLine(const Params* p, global TYPE(T)* o, long column, VEC out, ACC sum, bool seen) {
  ACC values[WIDTH];
  VSTORE(out, 0, values);
  for (int i = 0; i < WIDTH && column + i < p->dv; ++i) {
    STORE(T, o, (column + i) * p->o[3], seen ? values[i] / sum : EmptyRow(p));
  }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void flash(
    const global TYPE(T)* q, long q_at, const global TYPE(T)* k, long k_at, const global TYPE(T)* v, long v_at,
    const global void* mask, long mask_at, global TYPE(T)* o, long o_at, Params p, local ACC* rows) {
  local ACC weights[QUERIES * GROUP], top[QUERIES], sum[QUERIES], rescale[QUERIES];
  local int seen[QUERIES];
  const int item = (int)get_local_id(0), depth = ((int)p.d + WIDTH - 1) / WIDTH;
  const long batch = get_group_id(2), head = get_group_id(1), query = get_group_id(0) * QUERIES;
  const int queries = (int)min((long)QUERIES, p.l - query);
  const Group g = {&p,
                   k + k_at + RowOf(p.k, batch, head / p.group, 0),
                   v + v_at + RowOf(p.v, batch, head / p.group, 0),
                   mask,
                   mask_at + RowOf(p.mask, batch, head, query),
                   query,
                   queries,
                   depth};

  LoadQueries(&g, q + q_at + RowOf(p.q, batch, head, query), item, rows);
  if (item < QUERIES) top[item] = -(ACC)INFINITY, sum[item] = 0, seen[item] = 0;
  VEC out[QUERIES][COLUMNS];
  for (int row = 0; row < QUERIES; ++row) {
    for (int c = 0; c < COLUMNS; ++c) out[row][c] = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  const long last = KeysOf(&p, query + queries - 1).last;
  long block = KeysOf(&p, query).first / GROUP * GROUP;
  // At least once, as in tile.cl: without any key everything is masked.
  do {
    int masked[QUERIES];
    ScoreKey(&g, block + item, rows, weights + item, seen, masked);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < QUERIES) rescale[item] = RaiseTop(weights + item * GROUP, top + item);
    barrier(CLK_LOCAL_MEM_FENCE);
    Weigh(weights + item, top, masked);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < QUERIES) sum[item] = AddWeights(weights + item * GROUP, sum[item] * rescale[item]);
    const int keys = (int)min((long)GROUP, p.s - block);
    for (int c = 0; c < COLUMNS; ++c) {
      const long column = (item + c * GROUP) * WIDTH;
      if (column < p.dv) AddValues(&g, block, keys, column, weights, rescale, out, c);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    block += GROUP;
  } while (block < last);

  for (int row = 0; row < queries; ++row) {
    global TYPE(T)* to = o + o_at + RowOf(p.o, batch, head, query + row);
    for (int c = 0; c < COLUMNS; ++c) {
      WriteLine(&p, to, (item + c * GROUP) * WIDTH, out[row][c], sum[row], seen[row]);
    }
  }
}
