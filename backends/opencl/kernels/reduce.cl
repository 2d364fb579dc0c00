// SPDX-License-Identifier: Apache-2.0
// Folds: what an element becomes, how two values combine, what changes nothing. `stage` is the kind itself, or, inside
// kLogSumExp, kMax and then kLogSumExp for the sum of exponentials.
#if defined(ACC_int)
ACC Map(int stage, ACC x, ACC shift) { return x; }
ACC Combine(int stage, const Params* p, ACC a, ACC b) {
  return stage == kMax ? max(a, b) : stage == kMin ? min(a, b) : a + b;
}
ACC Identity(int stage, const Params* p) { return stage == kMax ? INT_MIN : stage == kMin ? INT_MAX : 0; }
ACC Last(const Params* p, ACC value) { return value; }
#else
ACC Map(int stage, ACC x, ACC shift) {
  if (stage == kL2) return x * x;
  if (stage == kLogSumExp) return exp(x - shift);
  return x;
}

// NaN wins, or loses where it is skipped.
ACC Greater(const Params* p, ACC a, ACC b, int sign) {
  const bool beaten = sign > 0 ? b > a : b < a;
  if (p->skips_nan) return isnan(b) || (!isnan(a) && !beaten) ? a : b;
  return isnan(a) || (!isnan(b) && !beaten) ? a : b;
}

ACC Combine(int stage, const Params* p, ACC a, ACC b) {
  if (stage == kMax) return Greater(p, a, b, 1);
  if (stage == kMin) return Greater(p, a, b, -1);
  return stage == kProd ? a * b : a + b;
}

ACC Identity(int stage, const Params* p) {
  if (stage == kMax || stage == kMin) return p->skips_nan ? (ACC)NAN : stage == kMax ? -(ACC)INFINITY : (ACC)INFINITY;
  return stage == kProd ? (ACC)1 : -(ACC)0;  // -0 + x is x for either zero
}

ACC Last(const Params* p, ACC value) {
  if (p->kind == kMean) return value / (ACC)p->count;
  return p->kind == kL2 ? sqrt(value) : value;
}
#endif

ACC FoldRange(int stage, const Params* p, const global TYPE(X)* x, long begin, long step, ACC shift) {
  ACC value = Identity(stage, p);
  for (long i = begin; i < p->count; i += step) {
    value = Combine(stage, p, value, Map(stage, LOAD(X, x, ReducedOffset(p, i)), shift));
  }
  return value;
}

kernel void sequential(const global TYPE(X)* x, long x_at, global TYPE(Y)* y, long y_at, Params p) {
  if (get_global_id(0) >= p.outputs) return;
  long in = x_at, out = y_at;
  KeptOffsets(&p, get_global_id(0), &in, &out);
  STORE(Y, y, out, Last(&p, FoldRange((int)p.kind, &p, x + in, 0, 1, 0)));
}

// Every item of the group gets the result.
ACC FoldGroup(int stage, const Params* p, const global TYPE(X)* x, ACC shift, local ACC* values) {
  const int item = (int)get_local_id(0);
  values[item] = FoldRange(stage, p, x, item, GROUP, shift);
  for (int half_size = GROUP / 2; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < half_size) values[item] = Combine(stage, p, values[item], values[item + half_size]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const ACC result = values[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return result;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void tree(const global TYPE(X)* x, long x_at,
                                                                    global TYPE(Y)* y, long y_at, Params p) {
  local ACC values[GROUP];
  long in = x_at, out = y_at;
  KeptOffsets(&p, GroupIndex(), &in, &out);
  const ACC value = Last(&p, FoldGroup((int)p.kind, &p, x + in, 0, values));
  if (get_local_id(0) == 0) STORE(Y, y, out, value);
}

#if !defined(ACC_int)
// The shift keeps exp from overflowing; a maximum that is not finite is the result itself.
kernel void sequential_of_exponentials(const global TYPE(X)* x, long x_at, global TYPE(Y)* y, long y_at, Params p) {
  if (get_global_id(0) >= p.outputs) return;
  long in = x_at, out = y_at;
  KeptOffsets(&p, get_global_id(0), &in, &out);
  const ACC top = FoldRange(kMax, &p, x + in, 0, 1, 0);
  const ACC value = isfinite(top) ? top + log(FoldRange(kLogSumExp, &p, x + in, 0, 1, top)) : top;
  STORE(Y, y, out, value);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void tree_of_exponentials(const global TYPE(X)* x, long x_at,
                                                                                    global TYPE(Y)* y, long y_at,
                                                                                    Params p) {
  local ACC values[GROUP];
  long in = x_at, out = y_at;
  KeptOffsets(&p, GroupIndex(), &in, &out);
  const ACC top = FoldGroup(kMax, &p, x + in, 0, values);
  const ACC sum = FoldGroup(kLogSumExp, &p, x + in, top, values);
  const ACC value = isfinite(top) ? top + log(sum) : top;
  if (get_local_id(0) == 0) STORE(Y, y, out, value);
}
#endif
