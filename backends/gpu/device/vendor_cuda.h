// SPDX-License-Identifier: Apache-2.0
// Device code as nvcc takes it.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "backends/gpu/device/vendor_compiler.h"

#define GPU_KERNEL __global__
#define GPU_CALL __device__ __noinline__
#define GPU_CONSTANT __grid_constant__

namespace gpu {

using Stream = cudaStream_t;

GPU_DEVICE float HalfToFloat(uint16_t bits) {
  return __half2float(__ushort_as_half(bits));
}
GPU_DEVICE uint16_t FloatToHalf(float value) {
  return __half_as_ushort(__float2half_rn(value));
}

GPU_DEVICE float MultiplyAdd(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
GPU_DEVICE double MultiplyAdd(double a, double b, double c) {
  return __fma_rn(a, b, c);
}

}  // namespace gpu
