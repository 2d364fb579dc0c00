// SPDX-License-Identifier: Apache-2.0
// Device code as hipcc takes it.
#pragma once

#include <hip/hip_runtime.h>

#include "backends/gpu/device/vendor_compiler.h"

// No block here has more threads. hipcc would count on 1024, and give each of them so few registers that tiles spill.
#define GPU_KERNEL __global__ __launch_bounds__(256)
#define GPU_CALL __device__ __attribute__((noinline))
#define GPU_CONSTANT

namespace gpu {

using Stream = hipStream_t;

GPU_DEVICE float HalfToFloat(uint16_t bits) {
  return static_cast<float>(__builtin_bit_cast(_Float16, bits));
}
GPU_DEVICE uint16_t FloatToHalf(float value) {
  return __builtin_bit_cast(uint16_t, static_cast<_Float16>(value));
}

GPU_DEVICE float MultiplyAdd(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
GPU_DEVICE double MultiplyAdd(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

}  // namespace gpu
