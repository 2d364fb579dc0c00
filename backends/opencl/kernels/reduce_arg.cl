// SPDX-License-Identifier: Apache-2.0
// argmax and argmin: the position of the first extreme element in row-major order over the reduced axes.
typedef struct {
  ACC value;
  long at;  // -1: none yet
} Best;

// Whether b stands before a: a greater (less) value, NaN above all unless skipped, and the lower position of equals.
bool Beats(const Params* p, Best b, Best a) {
  if (b.at < 0 || (p->skips_nan && isnan(b.value))) return false;
  if (a.at < 0) return true;
  const bool equal = b.value == a.value || (isnan(b.value) && isnan(a.value));
  if (equal) return b.at < a.at;
  if (isnan(a.value) || isnan(b.value)) return isnan(b.value);
  return p->kind == kArgMax ? b.value > a.value : b.value < a.value;
}

Best BestOf(const Params* p, const global TYPE(X)* x, long begin, long step) {
  Best best = {0, -1};
  for (long i = begin; i < p->count; i += step) {
    const Best next = {LOAD(X, x, ReducedOffset(p, i)), i};
    if (Beats(p, next, best)) best = next;
  }
  return best;
}

kernel void sequential(const global TYPE(X)* x, long x_at, global TYPE(Y)* y, long y_at, Params p) {
  if (get_global_id(0) >= p.outputs) return;
  long in = x_at, out = y_at;
  KeptOffsets(&p, get_global_id(0), &in, &out);
  const Best best = BestOf(&p, x + in, 0, 1);
  y[out] = max(best.at, 0L);  // NaN everywhere, all of it skipped
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void tree(const global TYPE(X)* x, long x_at,
                                                                        global TYPE(Y)* y, long y_at, Params p) {
  local ACC values[GROUP];
  local long at[GROUP];
  const int item = (int)get_local_id(0);
  long in = x_at, out = y_at;
  KeptOffsets(&p, GroupIndex(), &in, &out);
  const Best own = BestOf(&p, x + in, item, GROUP);
  values[item] = own.value, at[item] = own.at;
  for (int half_size = GROUP / 2; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < half_size) {
      const Best a = {values[item], at[item]}, b = {values[item + half_size], at[item + half_size]};
      if (Beats(&p, b, a)) values[item] = b.value, at[item] = b.at;
    }
  }
  if (item == 0) y[out] = max(at[0], 0L);
}
