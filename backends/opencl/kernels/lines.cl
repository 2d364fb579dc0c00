// SPDX-License-Identifier: Apache-2.0
// Normalisations of lines and the gradients of softmax, a group per line. Types X, W of weights, and Y.
typedef struct {
  long lines, size, period, weight_step, inner, kind, eps;
} Params;

enum { kLayerNorm, kRmsNorm, kFusedAddRmsNorm, kSoftmaxBackward, kLogSoftmaxBackward };

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void norm(
    const global TYPE(X)* x, long x_at, const global TYPE(X)* second, long second_at, const global TYPE(W)* gamma,
    long gamma_at, const global TYPE(W)* beta, long beta_at, global TYPE(Y)* y, long y_at, global TYPE(Y)* stored,
    long stored_at, Params p) {
  local ACC values[GROUP];
  const long line = GroupIndex(), first = get_local_id(0);
  x += x_at + line * p.size, second += second_at + line * p.size;
  y += y_at + line * p.size, stored += stored_at + line * p.size;
  const bool adds = p.kind == kFusedAddRmsNorm, is_log = p.kind == kLogSoftmaxBackward;
  const ACC count = (ACC)p.size;
  if (p.kind >= kSoftmaxBackward) {  // x are the probabilities or their logarithms, second their gradient
    ACC sum = 0;
    for (long i = first; i < p.size; i += GROUP) {
      const ACC dy = LOAD(X, second, i);
      sum += is_log ? dy : LOAD(X, x, i) * dy;
    }
    sum = GroupSum(sum, values);
    for (long i = first; i < p.size; i += GROUP) {
      const ACC of_y = LOAD(X, x, i), dy = LOAD(X, second, i);
      STORE(Y, y, i, is_log ? dy - exp(of_y) * sum : of_y * (dy - sum));
    }
    return;
  }
  ACC mean = 0;
  if (p.kind == kLayerNorm) {
    for (long i = first; i < p.size; i += GROUP) mean += LOAD(X, x, i);
    mean = GroupSum(mean, values) / count;
  }
  ACC squares = 0;
  for (long i = first; i < p.size; i += GROUP) {
    const ACC centred = LOAD(X, x, i) + (adds ? LOAD(X, second, i) : -mean);
    squares += centred * centred;
  }
  const ACC rstd = 1 / sqrt(GroupSum(squares, values) / count + SCALAR(p.eps));
  const long weights = line % p.period * p.weight_step;
  gamma += gamma_at + weights, beta += beta_at + weights;
  for (long i = first; i < p.size; i += GROUP) {
    const ACC centred = LOAD(X, x, i) + (adds ? LOAD(X, second, i) : -mean);
    if (adds) STORE(Y, stored, i, centred);
    const ACC offset = p.kind == kLayerNorm ? LOAD(W, beta, i / p.inner) : 0;
    STORE(Y, y, i, centred * rstd * LOAD(W, gamma, i / p.inner) + offset);
  }
}
