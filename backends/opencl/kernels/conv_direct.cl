// SPDX-License-Identifier: Apache-2.0
// Each item has WIDTH neighbours along the last axis, of OUTPUTS channels, so that each x is loaded once for them.
// Terms in the order (c, taps), padded ones skipped. Global size (at least vectors, blocks of channels in a group,
// n * groups).
DEFINE_LINE(Line, X)

#if defined(ACC_double)
typedef JOIN(long, WIDTH) MASK;  // what select() takes beside VEC
#else
typedef JOIN(int, WIDTH) MASK;
#endif

kernel void direct(const global TYPE(X)* x, long x_at, const global TYPE(W)* w, long w_at,
                   const global TYPE(V)* bias, long bias_at, global TYPE(Y)* y, long y_at, Params p) {
  const int columns = ((int)p.out[2] + WIDTH - 1) / WIDTH, item = (int)get_global_id(0), line = item / columns;
  if (line >= p.out[0] * p.out[1]) return;
  const int p0 = line / (int)p.out[1], p1 = line % (int)p.out[1], p2 = item % columns * WIDTH;
  const int count = min(WIDTH, (int)p.out[2] - p2);
  const long image = get_global_id(2) / p.groups, group = get_global_id(2) % p.groups;
  const long first = get_global_id(1) * OUTPUTS;  // in the group
  x += x_at + image * p.x_outer + group * p.c * p.x_inner;
  w += w_at + (group * p.o + first) * p.w_outer;
  VEC sum[OUTPUTS];
  long row[OUTPUTS];
  for (int r = 0; r < OUTPUTS; ++r) {
    sum[r] = 0;
    // Channels beyond the group read the last one's weights, and are not stored.
    row[r] = min((long)r, p.o - 1 - first) * p.w_outer;
  }
  for (long c = 0; c < p.c; ++c) {
    for (int t0 = 0; t0 < (int)p.kernel_size[0]; ++t0) {
      const long s0 = Source(&p, 0, p0, t0);
      if (!Sees(&p, 0, s0)) continue;
      for (int t1 = 0; t1 < (int)p.kernel_size[1]; ++t1) {
        const long s1 = Source(&p, 1, p1, t1);
        if (!Sees(&p, 1, s1)) continue;
        const long start = c * p.x_inner + s0 * p.x[0] + s1 * p.x[1];
        const long tap = c * p.w_inner + t0 * p.w[0] + t1 * p.w[1];
        for (int t2 = 0; t2 < (int)p.kernel_size[2]; ++t2) {
          const long s2 = Source(&p, 2, p2, t2), last = Source(&p, 2, p2 + WIDTH - 1, t2);
          const global TYPE(W)* weights = w + tap + t2 * p.w[2];
          if (count == WIDTH && s2 >= 0 && last < p.in[2]) {
            const VEC values = Line(x, start + s2 * p.x[2], p.stride[2] * p.x[2], WIDTH);
#pragma unroll
            for (int r = 0; r < OUTPUTS; ++r) sum[r] = MAD((VEC)LOAD(W, weights, row[r]), values, sum[r]);
          } else {
            ACC values[WIDTH];
            ACC seen[WIDTH];
            for (int i = 0; i < WIDTH; ++i) {
              const long at = s2 + i * p.stride[2];
              const bool inside = i < count && Sees(&p, 2, at);
              seen[i] = inside;
              values[i] = inside ? LOAD(X, x, start + at * p.x[2]) : (ACC)0;
            }
            const MASK mask = VLOAD(0, seen) != 0;
#pragma unroll
            for (int r = 0; r < OUTPUTS; ++r) {
              const VEC next = MAD((VEC)LOAD(W, weights, row[r]), VLOAD(0, values), sum[r]);
              sum[r] = select(sum[r], next, mask);
            }
          }
        }
      }
    }
  }
  for (int r = 0; r < OUTPUTS; ++r) {
    ACC values[WIDTH];
    VSTORE(sum[r], 0, values);
    for (int i = 0; i < count && first + r < p.o; ++i) {
      const Index position = {{p0, p1, p2 + i}};
      Finish(&p, bias + bias_at, y + y_at, image, group * p.o + first + r, position, values[i]);
    }
  }
}
