// SPDX-License-Identifier: Apache-2.0
// Functions of single elements and gates, a thread per element of the output.
#pragma once

#include "backends/gpu/device/elementwise_params.h"
#include "backends/gpu/device/math.h"
#include "backends/gpu/device/reduce_params.h"

namespace gpu {

template <class A>
GPU_DEVICE A PointValue(PointFunction function, A x) {
  switch (function) {
    case PointFunction::kExp:
      return Exp(x);
    case PointFunction::kLog:
      return Log(x);
    case PointFunction::kTanh:
      return Tanh(x);
    case PointFunction::kErf:
      return Erf(x);
    case PointFunction::kRsqrt:
      return 1 / SquareRoot(x);
    case PointFunction::kGelu:
      return static_cast<A>(0.5) * x * (1 + Erf(x * static_cast<A>(0.70710678118654752)));
    case PointFunction::kGeluByTanh: {
      const A cubic = x + static_cast<A>(0.044715) * (x * x * x);
      return static_cast<A>(0.5) * x * (1 + Tanh(static_cast<A>(0.79788456080286536) * cubic));
    }
    case PointFunction::kSiluAndMul:
      return x * (1 / (1 + Exp(-x)));
  }
  return x;
}

template <class A>
GPU_KERNEL void RunPoints(const GPU_CONSTANT PointParams p) {
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kReduceThreads + threadIdx.x;
  if (index >= p.rows * p.size) return;
  const int64_t row = index / p.size, i = index - row * p.size, x_at = row * p.x.row_step + i * p.x.step;
  A y = PointValue(p.function, Load<A>(p.x.data, p.x.type, x_at));
  if (p.function == PointFunction::kSiluAndMul) y *= Load<A>(p.x.data, p.x.type, x_at + p.size * p.x.step);
  Store(p.y.data, p.y.type, row * p.y.row_step + i * p.y.step, y);
}

}  // namespace gpu
