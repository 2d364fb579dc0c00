// SPDX-License-Identifier: Apache-2.0
// The product of operands of types A and B: whole sums, or partial ones over the parts of k.
struct Factors {
  const global TYPE(A)* a;
  const global TYPE(B)* b;
  const Params* p;
};

DEFINE_LINE(LineOfA, A)
DEFINE_LINE(LineOfB, B)

VEC LoadA(const Factors* f, long row, long k, long end) {
  const Params* p = f->p;
  const long count = A_ALONG_K ? (row < p->m ? end - k : 0) : (k < end ? p->m - row : 0);
  return LineOfA(f->a, row * p->a_row + k * p->a_column, A_ALONG_K ? p->a_column : p->a_row, count);
}

VEC LoadB(const Factors* f, int along_k, long k, long column, long end) {
  const Params* p = f->p;
  const long count = along_k ? (column < p->n ? end - k : 0) : (k < end ? p->n - column : 0);
  return LineOfB(f->b, k * p->b_row + column * p->b_column, along_k ? p->b_row : p->b_column, count);
}

// Work-group (tile of columns, tile of rows, batch * parts). With several parts into sums[batch, part, m, n].
kernel __attribute__((reqd_work_group_size(GX, GY, 1))) void tiled(
    const global TYPE(A)* a, long a_at, const global TYPE(B)* b, long b_at, const global TYPE(C)* c, long c_at,
    const global TYPE(V)* bias, long bias_at, global TYPE(Y)* y, long y_at, global ACC* sums, long sums_at, Params p) {
  local ACC tile_a[BM * ROW_A], tile_b[BK * BN];
  VEC sum[TM][TN];
  const long batch = get_group_id(2) / p.parts, part = get_group_id(2) % p.parts;
  const long row = get_group_id(1) * BM, column = get_group_id(0) * BN;
  const Factors factors = {a + a_at + batch * p.a_batch, b + b_at + batch * p.b_batch, &p};
  const Addends addends = {c + c_at, bias + bias_at, y + y_at};
  TileProduct(&factors, (int)p.b_along_k, p.m, row, column, part * p.part,
              min((part + 1) * p.part, p.k), tile_a, tile_b, sum);
  for (int i = 0; i < TM; ++i) {
    const long at = row + get_local_id(1) * TM + i;
    for (int j = 0; j < TN && at < p.m; ++j) {
      ACC values[WIDTH];
      VSTORE(sum[i][j], 0, values);
      const long to = column + TileColumn(j);
      for (int l = 0; l < WIDTH && to + l < p.n; ++l) {
        if (p.parts == 1) {
          Finish(&p, &addends, batch, at, to + l, values[l]);
        } else {
          sums[sums_at + (get_group_id(2) * p.m + at) * p.n + to + l] = values[l];
        }
      }
    }
  }
}
