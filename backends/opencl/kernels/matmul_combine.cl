// SPDX-License-Identifier: Apache-2.0
// Adds the partial sums of a product in the order of its parts.
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
