// SPDX-License-Identifier: Apache-2.0
// Functions of both precisions, and what the threads of a block make together.
#pragma once

#include <cmath>

#include "backends/gpu/device/elements.h"

namespace gpu {

GPU_DEVICE float Exp(float x) {
  return expf(x);
}
GPU_DEVICE double Exp(double x) {
  return exp(x);
}
GPU_DEVICE float Log(float x) {
  return logf(x);
}
GPU_DEVICE double Log(double x) {
  return log(x);
}
GPU_DEVICE float Tanh(float x) {
  return tanhf(x);
}
GPU_DEVICE double Tanh(double x) {
  return tanh(x);
}
GPU_DEVICE float Erf(float x) {
  return erff(x);
}
GPU_DEVICE double Erf(double x) {
  return erf(x);
}
GPU_DEVICE float SquareRoot(float x) {
  return sqrtf(x);
}
GPU_DEVICE double SquareRoot(double x) {
  return sqrt(x);
}

// The nearest integer, of two the even one.
GPU_DEVICE float NearestInteger(float x) {
  return rintf(x);
}
GPU_DEVICE double NearestInteger(double x) {
  return rint(x);
}

template <class A>
GPU_DEVICE A Infinity() {
  return static_cast<A>(HUGE_VAL);
}
template <class A>
GPU_DEVICE bool IsNan(A x) {
  return x != x;
}
template <class A>
GPU_DEVICE bool IsFinite(A x) {
  return x - x == A{0};
}

// NaN wins.
template <class A>
GPU_DEVICE A Greatest(A a, A b) {
  return IsNan(a) || (!IsNan(b) && a >= b) ? a : b;
}

struct GreatestOf {
  template <class A>
  GPU_DEVICE A operator()(A a, A b) const {
    return Greatest(a, b);
  }
};
struct SumOf {
  template <class A>
  GPU_DEVICE A operator()(A a, A b) const {
    return a + b;
  }
};

// The combination of what every thread of the block brings, as a tree; all of them get it. `values` holds kThreads.
template <int kThreads, class A, class Combine>
GPU_DEVICE A BlockCombine(A own, A* values, const Combine& combine) {
  const int thread = static_cast<int>(threadIdx.x);
  values[thread] = own;
  for (int width = kThreads / 2; width > 0; width /= 2) {
    Sync();
    if (thread < width) values[thread] = combine(values[thread], values[thread + width]);
  }
  Sync();
  const A result = values[0];
  Sync();
  return result;
}

}  // namespace gpu
