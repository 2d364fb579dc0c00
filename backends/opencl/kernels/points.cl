// SPDX-License-Identifier: Apache-2.0
// z[i] = Compute(function, x[i], y[i], a, b), an item per element. Types X and Z.
typedef struct {
  long function, rows, n, x_row, x_step, y_row, y_step, z_row, z_step, a, b, y_first;
} Params;

kernel void points(const global TYPE(X)* x, long x_at, const global TYPE(X)* y, long y_at, global TYPE(Z)* z, long z_at,
                   Params p) {
  const long i = GroupIndex() * get_local_size(0) + get_local_id(0);
  if (i >= p.rows * p.n) return;
  const long row = i / p.n, at = i - row * p.n;
  const ACC first = LOAD(X, x, x_at + row * p.x_row + at * p.x_step);
  const ACC second = LOAD(X, y, y_at + p.y_first + row * p.y_row + at * p.y_step);
  STORE(Z, z, z_at + row * p.z_row + at * p.z_step, Compute(p.function, first, second, SCALAR(p.a), SCALAR(p.b)));
}
