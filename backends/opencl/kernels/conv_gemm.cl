// SPDX-License-Identifier: Apache-2.0
// Implicit GEMM: w as [outputs, terms] times patches [terms, positions] that exist in local memory only, padding as
// zeros. Work-group (tile of positions, tile of channels, n * groups).
struct Factors {
  const global TYPE(W)* w;
  const global TYPE(X)* x;
  const Params* p;
  int terms, taps, positions;
};

ACC LoadA(const Factors* f, long output, long term) {
  if (output >= f->p->o) return 0;
  const int c = (int)term / f->taps;
  const Index tap = Split(f->p->kernel_size, (int)term - c * f->taps);
  return LOAD(W, f->w, output * f->p->w_outer + c * f->p->w_inner + Along(f->p->w, tap));
}

ACC LoadB(const Factors* f, long term, long position) {
  if (position >= f->positions) return 0;
  const Params* p = f->p;
  const int c = (int)term / f->taps;
  const Index tap = Split(p->kernel_size, (int)term - c * f->taps), at = Split(p->out, (int)position);
  long offset = c * p->x_inner;
  for (int axis = 3 - RANK; axis < 3; ++axis) {
    const long source = Source(p, axis, at.at[axis], tap.at[axis]);
    if (!Sees(p, axis, source)) return 0;
    offset += source * p->x[axis];
  }
  return LOAD(X, f->x, offset);
}

kernel __attribute__((reqd_work_group_size(GX, GY, 1))) void implicit_gemm(
    const global TYPE(X)* x, long x_at, const global TYPE(W)* w, long w_at, const global TYPE(V)* bias, long bias_at,
    global TYPE(Y)* y, long y_at, Params p) {
  local ACC tile_a[BK * BM], tile_b[BK * BN];
  ACC sum[TM][TN];
  const long image = get_group_id(2) / p.groups, group = get_group_id(2) % p.groups;
  const long row = get_group_id(1) * BM, column = get_group_id(0) * BN;
  const int taps = (int)(p.kernel_size[0] * p.kernel_size[1] * p.kernel_size[2]);
  const Factors factors = {w + w_at + group * p.o * p.w_outer,
                           x + x_at + image * p.x_outer + group * p.c * p.x_inner,
                           &p,
                           (int)p.c * taps,
                           taps,
                           (int)(p.out[0] * p.out[1] * p.out[2])};
  TileProduct(&factors, row, column, 0, factors.terms, tile_a, tile_b, sum);
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) {
      const long at = row + get_local_id(1) * TM + i, to = column + get_local_id(0) + GX * j;
      if (at >= p.o || to >= factors.positions) continue;
      Finish(&p, bias + bias_at, y + y_at, image, group * p.o + at, (int)to, sum[i][j]);
    }
  }
}
