// SPDX-License-Identifier: Apache-2.0
// Device code as nvcc takes it.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define GPU_FN __host__ __device__ inline
#define GPU_DEVICE __device__ inline
#define GPU_KERNEL __global__
#define GPU_SHARED __shared__
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

GPU_DEVICE void Sync() {
  __syncthreads();
}

template <class Params>
void Launch(void (*kernel)(Params), int64_t blocks, int threads, Stream stream, const Params& params) {
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, stream>>>(params);
}

}  // namespace gpu
