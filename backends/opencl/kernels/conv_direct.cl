// SPDX-License-Identifier: Apache-2.0
// Each item has one position of OUTPUTS channels, so that each x is loaded once for them. Terms in the order (c, taps),
// padded ones skipped. Global size (at least positions, blocks of channels in a group, n * groups).
kernel void direct(const global TYPE(X)* x, long x_at, const global TYPE(W)* w, long w_at,
                   const global TYPE(V)* bias, long bias_at, global TYPE(Y)* y, long y_at, Params p) {
  const int position = (int)get_global_id(0), positions = (int)(p.out[0] * p.out[1] * p.out[2]);
  if (position >= positions) return;
  const long image = get_global_id(2) / p.groups, group = get_global_id(2) % p.groups;
  const long first = get_global_id(1) * OUTPUTS;  // in the group
  const Index at = Split(p.out, position);
  x += x_at + image * p.x_outer + group * p.c * p.x_inner;
  w += w_at + (group * p.o + first) * p.w_outer;
  ACC sum[OUTPUTS];
  for (int r = 0; r < OUTPUTS; ++r) sum[r] = 0;
  // Channels beyond the group read the last one's weights, and are not stored.
  long row[OUTPUTS];
  for (int r = 0; r < OUTPUTS; ++r) row[r] = min((long)r, p.o - 1 - first) * p.w_outer;
  for (long c = 0; c < p.c; ++c) {
    for (int t0 = 0; t0 < (int)p.kernel_size[0]; ++t0) {
      const long s0 = Source(&p, 0, at.at[0], t0);
      if (!Sees(&p, 0, s0)) continue;
      for (int t1 = 0; t1 < (int)p.kernel_size[1]; ++t1) {
        const long s1 = Source(&p, 1, at.at[1], t1);
        if (!Sees(&p, 1, s1)) continue;
        const long line = c * p.x_inner + s0 * p.x[0] + s1 * p.x[1];
        const long tap = c * p.w_inner + t0 * p.w[0] + t1 * p.w[1];
        for (int t2 = 0; t2 < (int)p.kernel_size[2]; ++t2) {
          const long s2 = Source(&p, 2, at.at[2], t2);
          if (!Sees(&p, 2, s2)) continue;
          const ACC value = LOAD(X, x, line + s2 * p.x[2]);
#pragma unroll
          for (int r = 0; r < OUTPUTS; ++r) sum[r] = MAD(LOAD(W, w, row[r] + tap + t2 * p.w[2]), value, sum[r]);
        }
      }
    }
  }
  for (int r = 0; r < OUTPUTS; ++r) {
    if (first + r < p.o) Finish(&p, bias + bias_at, y + y_at, image, group * p.o + first + r, position, sum[r]);
  }
}
