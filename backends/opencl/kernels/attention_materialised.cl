// SPDX-License-Identifier: Apache-2.0
// All scores, their softmax, the weighted sum; scores[batch, head, l, s].
// Global size (at least s, l, batch * heads).
kernel void scores(const global TYPE(T)* q, long q_at, const global TYPE(T)* k, long k_at, global ACC* scores,
                   long scores_at, Params p) {
  const long j = get_global_id(0), i = get_global_id(1), batch = get_global_id(2) / p.heads;
  const long head = get_global_id(2) % p.heads;
  if (j >= p.s) return;
  q += q_at + RowOf(p.q, batch, head, i), k += k_at + RowOf(p.k, batch, head / p.group, j);
  VEC dot = 0;
  for (long c = 0; c < p.d; c += WIDTH) {
    dot = MAD(Line(q, c * p.q[3], p.q[3], p.d - c), Line(k, c * p.k[3], p.k[3], p.d - c), dot);
  }
  scores[scores_at + (get_global_id(2) * p.l + i) * p.s + j] = Total(dot);
}

// Group (1, l, batch * heads).
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void normalise(const global void* mask, long mask_at,
                                                                         global ACC* scores, long scores_at,
                                                                         Params p) {
  local ACC values[GROUP];
  const long i = get_group_id(1), batch = get_group_id(2) / p.heads, head = get_group_id(2) % p.heads;
  global ACC* row = scores + scores_at + (get_group_id(2) * p.l + i) * p.s;
  const Keys keys = KeysOf(&p, i);
  mask_at += RowOf(p.mask, batch, head, i);
  ACC own = -(ACC)INFINITY;
  for (long j = get_local_id(0); j < p.s; j += GROUP) {
    const ACC add = MaskOf(&p, mask, mask_at, keys, j);
    if (add == -(ACC)INFINITY) continue;
    row[j] = FinishScore(&p, row[j], add);
    own = Greatest(own, row[j]);
  }
  const ACC top = GroupGreatest(own, values);
  own = 0;
  for (long j = get_local_id(0); j < p.s; j += GROUP) {
    const bool masked = MaskOf(&p, mask, mask_at, keys, j) == -(ACC)INFINITY;
    row[j] = masked ? MASKED : exp(row[j] - top);
    if (!masked) own += row[j];
  }
  const ACC sum = GroupSum(own, values);
  for (long j = get_local_id(0); j < p.s; j += GROUP) row[j] = row[j] < 0 ? MASKED : row[j] / sum;
}

// Global size (at least vectors of dv, l, batch * heads).
kernel void values(const global ACC* scores, long scores_at, const global TYPE(T)* v, long v_at, global TYPE(T)* o,
                   long o_at, Params p) {
  const long c = get_global_id(0) * WIDTH, i = get_global_id(1), batch = get_global_id(2) / p.heads;
  const long head = get_global_id(2) % p.heads;
  if (c >= p.dv) return;
  const global ACC* row = scores + scores_at + (get_global_id(2) * p.l + i) * p.s;
  v += v_at + RowOf(p.v, batch, head / p.group, 0) + c * p.v[3];
  VEC sum = 0;
  bool seen = false;
  for (long j = 0; j < p.s; ++j) {
    if (row[j] < 0) continue;
    seen = true;
    sum = MAD((VEC)row[j], Line(v, j * p.v[2], p.v[3], p.dv - c), sum);
  }
  ACC columns[WIDTH];
  VSTORE(sum, 0, columns);
  for (int l = 0; l < WIDTH && c + l < p.dv; ++l) {
    STORE(T, o, o_at + RowOf(p.o, batch, head, i) + (c + l) * p.o[3], seen ? columns[l] : EmptyRow(&p));
  }
}
