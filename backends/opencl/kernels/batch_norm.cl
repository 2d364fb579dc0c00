// SPDX-License-Identifier: Apache-2.0
// Channels by statistics that are given, a group per channel of a sample. Types X, W of all that channels have, and Y.
typedef struct {
  long lines, size, period, weight_step, inner, kind, eps;
} Params;

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void batch_norm(
    const global TYPE(X)* x, long x_at, const global TYPE(W)* gamma, long gamma_at, const global TYPE(W)* beta,
    long beta_at, const global TYPE(W)* mean, long mean_at, const global TYPE(W)* variance, long variance_at,
    global TYPE(Y)* y, long y_at, Params p) {
  const long line = GroupIndex(), channel = line % p.period;
  const ACC middle = LOAD(W, mean, mean_at + channel);
  const ACC rstd = 1 / sqrt(LOAD(W, variance, variance_at + channel) + SCALAR(p.eps));
  const ACC factor = LOAD(W, gamma, gamma_at + channel), offset = LOAD(W, beta, beta_at + channel);
  for (long i = get_local_id(0); i < p.size; i += GROUP) {
    const ACC centred = LOAD(X, x, x_at + line * p.size + i) - middle;
    STORE(Y, y, y_at + line * p.size + i, centred * rstd * factor + offset);
  }
}
