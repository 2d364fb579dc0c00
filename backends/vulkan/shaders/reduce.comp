#version 450
// SPDX-License-Identifier: Apache-2.0
// Sums, products and logsumexp: every lane folds a strided share, then a balanced tree over the lanes.
#include "types.glsl"
#include "axes.glsl"
#include "reduce.glsl"
#if !defined(VARIANT_I32)
#include "functions.glsl"
#endif

READS(1, x)
WRITES(2, y)
layout(set = 0, binding = 3, std430) buffer Partials { real partial[]; };

layout(constant_id = 0) const uint LANES = 64;
shared real lanes_value[LANES];
shared real lanes_max[LANES];  // of logsumexp: the maximum that its sum of exponentials is relative to

struct State {
  real value, max;
};

#if defined(VARIANT_I32)
State Identity() { return State(0, 0); }
State Joined(State a, State b) { return State(a.value + b.value, 0); }
State ElementState(int x) { return State(x, 0); }
int Result(State s) { return s.value; }
#else
State Identity() {
  if (KIND == kLogSumExp) return State(real(0), MINUS_INFINITY);
  return State(KIND == kProd ? real(1) : -real(0), real(0));
}

// exp(from - to), also for the same infinity on both sides.
real Weight(real from, real to) {
  return from == to ? real(1) : Exp(from - to);
}

State Joined(State a, State b) {
  precise real value;
  if (KIND == kLogSumExp) {
    const real m = b.max > a.max ? b.max : a.max;
    value = a.value * Weight(a.max, m) + b.value * Weight(b.max, m);
    return State(value, m);
  }
  if (KIND == kProd) {
    value = a.value * b.value;
  } else {
    value = a.value + b.value;
  }
  return State(value, real(0));
}

State ElementState(real x) {
  if (KIND == kL2) {
    precise real square = x * x;
    return State(square, real(0));
  }
  // NaN goes into the sum, where nothing removes it.
  if (KIND == kLogSumExp) return IsNan(x) ? State(x, MINUS_INFINITY) : State(real(x == MINUS_INFINITY ? 0 : 1), x);
  return State(x, real(0));
}

real Result(State s) {
  if (KIND == kL2) return sqrt(s.value);
  if (KIND == kSum && Opaque(p.mean) != 0u) return s.value / real(p.count);
  if (KIND != kLogSumExp) return s.value;
  if (IsNan(s.value)) return s.value;
  if (s.max == MINUS_INFINITY || s.max == -MINUS_INFINITY) return s.max;
  precise real sum = s.max + Log(s.value);
  return sum;
}
#endif

void main() {
  const uint group = Group(), lane = gl_LocalInvocationID.x;
  if (group >= push.groups) return;
  const Span span = SpanOf(group);
  const uvec2 at = KeptOffsets(span.index);
  State state = Identity();
  for (uint i = span.first + lane; i < span.last; i += LANES) {
    State next;
    if (FROM_PARTIALS) {
      const uint from = 2u * (span.index * p.chunks + i);
      next = State(partial[from], partial[from + 1u]);
    } else {
      next = ElementState(Load_x(at.x + ReducedOffsets(i).x));
    }
    state = Joined(state, next);
  }
  lanes_value[lane] = state.value;
  lanes_max[lane] = state.max;
  for (uint half_way = LANES / 2u; half_way > 0u; half_way /= 2u) {
    barrier();
    if (lane < half_way) {
      state = Joined(state, State(lanes_value[lane + half_way], lanes_max[lane + half_way]));
      lanes_value[lane] = state.value;
      lanes_max[lane] = state.max;
    }
  }
  if (lane != 0u) return;
  if (Opaque(p.to_partials) != 0u) {
    partial[2u * group] = state.value;
    partial[2u * group + 1u] = state.max;
  } else {
    Store_y(at.y, Result(state));
  }
}
