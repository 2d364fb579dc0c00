// SPDX-License-Identifier: Apache-2.0
// y = alpha A B + beta c + bias for operands with any strides. Types A, B, C (addend), V (bias) and Y. `tiled` gives
// whole sums, or partial ones over the parts of k, which `combine` adds in the order of the parts.
typedef struct {
  long m, n, k, batch, parts, part;  // `part`: extent of k in one part
  long a_batch, a_row, a_column, b_batch, b_row, b_column;
  long c_batch, c_row, c_column, bias_column, y_batch, y_row, y_column;
  long has_c, has_bias, rounded, one, alpha, beta;  // the last three as SCALAR() reads them
} Params;

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

VEC LoadB(const Factors* f, long k, long column, long end) {
  const Params* p = f->p;
  const long count = B_ALONG_K ? (column < p->n ? end - k : 0) : (k < end ? p->n - column : 0);
  return LineOfB(f->b, k * p->b_row + column * p->b_column, B_ALONG_K ? p->b_row : p->b_column, count);
}

// The operands behind the product: each comes with the offset of its element zero.
typedef struct {
  const global TYPE(C)* c;
  const global TYPE(V)* bias;
  global TYPE(Y)* y;
} Addends;

void Finish(const Params* p, const Addends* at, long batch, long row, long column, ACC value) {
  if (p->alpha != p->one) value *= SCALAR(p->alpha);
  if (p->rounded) value = ROUND(Y, value);
  if (p->has_c) {
    const ACC c = LOAD(C, at->c, batch * p->c_batch + row * p->c_row + column * p->c_column);
    value = MAD(SCALAR(p->beta), c, value);
  }
  if (p->has_bias) value += LOAD(V, at->bias, column * p->bias_column);
  STORE(Y, at->y, batch * p->y_batch + row * p->y_row + column * p->y_column, value);
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
  TileProduct(&factors, p.m, row, column, part * p.part, min((part + 1) * p.part, p.k), tile_a, tile_b, sum);
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

// One item per element of y: global size (at least n, m, batch).
kernel void combine(const global ACC* sums, long sums_at, const global TYPE(C)* c, long c_at,
                    const global TYPE(V)* bias, long bias_at, global TYPE(Y)* y, long y_at, Params p) {
  const long column = get_global_id(0), row = get_global_id(1), batch = get_global_id(2);
  if (column >= p.n) return;
  const global ACC* part = sums + sums_at + (batch * p.parts * p.m + row) * p.n + column;
  ACC sum = part[0];
  for (long i = 1; i < p.parts; ++i) sum += part[i * p.m * p.n];
  const Addends addends = {c + c_at, bias + bias_at, y + y_at};
  Finish(&p, &addends, batch, row, column, sum);
}
