// SPDX-License-Identifier: Apache-2.0
// Sums (kind 0) or products (1) of a line up to each element, an item per line. Types X and Y.
typedef struct {
  long lines, size, period, weight_step, inner, kind, eps;
} Params;

kernel void scan(const global TYPE(X)* x, long x_at, global TYPE(Y)* y, long y_at, Params p) {
  const long line = GroupIndex() * get_local_size(0) + get_local_id(0);
  if (line >= p.lines) return;
  ACC all = p.kind;
  for (long i = line * p.size; i < (line + 1) * p.size; ++i) {
    const ACC next = LOAD(X, x, x_at + i);
    all = p.kind ? all * next : all + next;
    STORE(Y, y, y_at + i, all);
  }
}
