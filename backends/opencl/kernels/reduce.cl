// SPDX-License-Identifier: Apache-2.0
// Reductions over any axes. KIND and SKIP_NAN come from the build options; KIND counts as ReduceKind does on the host.
// `sequential` folds each output in row-major order with one item; `tree` gives it a group, whose items fold every
// GROUP-th element and are then combined as a tree. `arg_sequential` and `arg_tree` find positions.
enum { kSum, kMean, kMax, kMin, kProd, kL2, kArgMax, kArgMin, kLogSumExp };

#define AXES 8
typedef struct {
  long outputs, count, kept_axes, reduced_axes;
  long kept_size[AXES], kept_in[AXES], kept_out[AXES], reduced_size[AXES], reduced_in[AXES];
} Params;

// Of the element with row-major index `index` over the reduced axes, in elements of x.
long ReducedOffset(const Params* p, long index) {
#if REDUCED_AXES == 1
  return index * p->reduced_in[0];
#else
  long offset = 0;
  for (int axis = REDUCED_AXES - 1; axis > 0; --axis) {
    const long size = p->reduced_size[axis], next = index / size;
    offset += (index - next * size) * p->reduced_in[axis];
    index = next;
  }
  return offset + index * p->reduced_in[0];
#endif
}

void KeptOffsets(const Params* p, long index, long* in, long* out) {
  for (int axis = (int)p->kept_axes - 1; axis >= 0; --axis) {
    const long size = p->kept_size[axis], next = index / size;
    *in += (index - next * size) * p->kept_in[axis];
    *out += (index - next * size) * p->kept_out[axis];
    index = next;
  }
}

// ---- Folding: what an element becomes, how two values combine, what changes nothing.
// `stage` is the kind itself, or, inside kLogSumExp, kMax and then kSum of exponentials.
#if defined(ACC_int)
ACC Map(int stage, ACC x, ACC shift) { return x; }
ACC Combine(int stage, ACC a, ACC b) { return stage == kMax ? max(a, b) : stage == kMin ? min(a, b) : a + b; }
ACC Identity(int stage) { return stage == kMax ? INT_MIN : stage == kMin ? INT_MAX : 0; }
ACC Last(ACC value, long count) { return value; }
#else
ACC Map(int stage, ACC x, ACC shift) {
  if (stage == kL2) return x * x;
  if (stage == kLogSumExp) return exp(x - shift);
  return x;
}

// NaN wins, or with SKIP_NAN loses.
ACC Greater(ACC a, ACC b, int sign) {
  const bool beaten = sign > 0 ? b > a : b < a;
  if (SKIP_NAN) return isnan(b) || (!isnan(a) && !beaten) ? a : b;
  return isnan(a) || (!isnan(b) && !beaten) ? a : b;
}

ACC Combine(int stage, ACC a, ACC b) {
  if (stage == kMax) return Greater(a, b, 1);
  if (stage == kMin) return Greater(a, b, -1);
  return stage == kProd ? a * b : a + b;
}

ACC Identity(int stage) {
  if (stage == kMax || stage == kMin) return SKIP_NAN ? (ACC)NAN : stage == kMax ? -(ACC)INFINITY : (ACC)INFINITY;
  return stage == kProd ? (ACC)1 : -(ACC)0;  // -0 + x is x for either zero
}

ACC Last(ACC value, long count) {
  if (KIND == kMean) return value / (ACC)count;
  return KIND == kL2 ? sqrt(value) : value;
}
#endif

ACC FoldRange(int stage, const Params* p, const global TYPE(X)* x, long begin, long step, ACC shift) {
  ACC value = Identity(stage);
  for (long i = begin; i < p->count; i += step) {
    value = Combine(stage, value, Map(stage, LOAD(X, x, ReducedOffset(p, i)), shift));
  }
  return value;
}

kernel void sequential(const global TYPE(X)* x, long x_at, global TYPE(Y)* y, long y_at, Params p) {
  if (get_global_id(0) >= p.outputs) return;
  long in = x_at, out = y_at;
  KeptOffsets(&p, get_global_id(0), &in, &out);
#if KIND == 8
  const ACC top = FoldRange(kMax, &p, x + in, 0, 1, 0);
  // The shift keeps exp from overflowing; a maximum that is not finite is the result itself.
  const ACC value = isfinite(top) ? top + log(FoldRange(kLogSumExp, &p, x + in, 0, 1, top)) : top;
#else
  const ACC value = Last(FoldRange(KIND, &p, x + in, 0, 1, 0), p.count);
#endif
  STORE(Y, y, out, value);
}

// Every item of the group gets the result.
ACC FoldGroup(int stage, const Params* p, const global TYPE(X)* x, ACC shift, local ACC* values) {
  const int item = (int)get_local_id(0);
  values[item] = FoldRange(stage, p, x, item, GROUP, shift);
  for (int half_size = GROUP / 2; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < half_size) values[item] = Combine(stage, values[item], values[item + half_size]);
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
  KeptOffsets(&p, get_group_id(0), &in, &out);
#if KIND == 8
  const ACC top = FoldGroup(kMax, &p, x + in, 0, values);
  const ACC sum = FoldGroup(kLogSumExp, &p, x + in, top, values);
  const ACC value = isfinite(top) ? top + log(sum) : top;
#else
  const ACC value = Last(FoldGroup(KIND, &p, x + in, 0, values), p.count);
#endif
  if (get_local_id(0) == 0) STORE(Y, y, out, value);
}

// ---- Positions
#if !defined(ACC_int)
typedef struct {
  ACC value;
  long at;  // -1: none yet
} Best;

// Whether b stands before a: a greater (less) value, NaN above all unless skipped, and the lower position of equals.
bool Beats(Best b, Best a) {
  if (b.at < 0 || (SKIP_NAN && isnan(b.value))) return false;
  if (a.at < 0) return true;
  const bool equal = b.value == a.value || (isnan(b.value) && isnan(a.value));
  if (equal) return b.at < a.at;
  if (isnan(a.value) || isnan(b.value)) return isnan(b.value);
  return KIND == kArgMax ? b.value > a.value : b.value < a.value;
}

Best BestOf(const Params* p, const global TYPE(X)* x, long begin, long step) {
  Best best = {0, -1};
  for (long i = begin; i < p->count; i += step) {
    const Best next = {LOAD(X, x, ReducedOffset(p, i)), i};
    if (Beats(next, best)) best = next;
  }
  return best;
}

kernel void arg_sequential(const global TYPE(X)* x, long x_at, global TYPE(Y)* y, long y_at, Params p) {
  if (get_global_id(0) >= p.outputs) return;
  long in = x_at, out = y_at;
  KeptOffsets(&p, get_global_id(0), &in, &out);
  const Best best = BestOf(&p, x + in, 0, 1);
  y[out] = max(best.at, 0L);  // NaN everywhere, all of it skipped
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void arg_tree(const global TYPE(X)* x, long x_at,
                                                                        global TYPE(Y)* y, long y_at, Params p) {
  local ACC values[GROUP];
  local long at[GROUP];
  const int item = (int)get_local_id(0);
  long in = x_at, out = y_at;
  KeptOffsets(&p, get_group_id(0), &in, &out);
  const Best own = BestOf(&p, x + in, item, GROUP);
  values[item] = own.value, at[item] = own.at;
  for (int half_size = GROUP / 2; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < half_size) {
      const Best a = {values[item], at[item]}, b = {values[item + half_size], at[item + half_size]};
      if (Beats(b, a)) values[item] = b.value, at[item] = b.at;
    }
  }
  if (item == 0) y[out] = max(at[0], 0L);
}
#endif
