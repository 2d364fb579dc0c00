// SPDX-License-Identifier: Apache-2.0
// Implicit GEMM: w as [outputs, terms] times patches [terms, positions] that exist in local memory only, padding as
// zeros. The last RANK axes may have an extent. Work-group (tile of positions, tile of channels, n * groups).
struct Factors {
  const global TYPE(W)* w;
  const global TYPE(X)* x;
  const Params* p;
  int terms, taps, positions, dense;
};

// The position or tap with row-major index `index` among `extents`.
Index Split(const long* extents, int index) {
  Index split = {{0, 0, 0}};
  for (int axis = 2; axis > 3 - RANK; --axis) {
    const int extent = (int)extents[axis], next = index / extent;
    split.at[axis] = index - next * extent;
    index = next;
  }
  split.at[3 - RANK] = index;
  return split;
}

DEFINE_LINE(Line, W)

// Whether the terms of an output's weights lie one after the other.
bool IsDense(const Params* p) {
  long expected = 1;
  for (int axis = 2; axis >= 0; --axis) {
    if (p->kernel_size[axis] > 1 && p->w[axis] != expected) return false;
    expected *= p->kernel_size[axis];
  }
  return p->c == 1 || p->w_inner == expected;
}

VEC LoadA(const Factors* f, long output, long term, long end) {
  const Params* p = f->p;
  const long count = output < p->o ? end - term : 0;
  if (f->dense) return Line(f->w, output * p->w_outer + term, 1, count);
  ACC line[WIDTH];
  for (int i = 0; i < WIDTH; ++i) {
    const int c = ((int)term + i) / f->taps;
    const Index tap = Split(p->kernel_size, (int)term + i - c * f->taps);
    line[i] = i < count ? LOAD(W, f->w, output * p->w_outer + c * p->w_inner + Along(p->w, tap)) : (ACC)0;
  }
  return VLOAD(0, line);
}

// Along the positions: one term, read where each of them sees it.
VEC LoadB(const Factors* f, int along_k, long term, long position, long end) {
  const Params* p = f->p;
  const int c = (int)term / f->taps;
  const Index tap = Split(p->kernel_size, (int)term - c * f->taps);
  Index at = Split(p->out, (int)position);
  ACC line[WIDTH];
  for (int i = 0; i < WIDTH; ++i) {
    bool seen = term < end && position + i < f->positions;
    long offset = c * p->x_inner;
    for (int axis = 3 - RANK; axis < 3; ++axis) {
      const long source = Source(p, axis, at.at[axis], tap.at[axis]);
      seen = seen && Sees(p, axis, source);
      offset += source * p->x[axis];
    }
    line[i] = seen ? LOAD(X, f->x, offset) : (ACC)0;
    for (int axis = 2; axis >= 3 - RANK && ++at.at[axis] == p->out[axis]; --axis) at.at[axis] = 0;  // the next position
  }
  return VLOAD(0, line);
}

kernel __attribute__((reqd_work_group_size(GX, GY, 1))) void implicit_gemm(
    const global TYPE(X)* x, long x_at, const global TYPE(W)* w, long w_at, const global TYPE(V)* bias, long bias_at,
    global TYPE(Y)* y, long y_at, Params p) {
  local ACC tile_a[BM * ROW_A], tile_b[BK * BN];
  VEC sum[TM][TN];
  const long image = get_group_id(2) / p.groups, group = get_group_id(2) % p.groups;
  const long row = get_group_id(1) * BM, column = get_group_id(0) * BN;
  const int taps = (int)(p.kernel_size[0] * p.kernel_size[1] * p.kernel_size[2]);
  const Factors factors = {w + w_at + group * p.o * p.w_outer,
                           x + x_at + image * p.x_outer + group * p.c * p.x_inner,
                           &p,
                           (int)p.c * taps,
                           taps,
                           (int)(p.out[0] * p.out[1] * p.out[2]),
                           IsDense(&p)};
  TileProduct(&factors, 0, p.o, row, column, 0, factors.terms, tile_a, tile_b, sum);
  for (int i = 0; i < TM; ++i) {
    const long at = row + get_local_id(1) * TM + i;
    for (int j = 0; j < TN && at < p.o; ++j) {
      ACC values[WIDTH];
      VSTORE(sum[i][j], 0, values);
      const long to = column + TileColumn(j);
      for (int l = 0; l < WIDTH; ++l) {
        if (to + l >= factors.positions) continue;
        const Index position = Split(p.out, (int)(to + l));
        Finish(&p, bias + bias_at, y + y_at, image, group * p.o + at, position, values[l]);
      }
    }
  }
}
