// SPDX-License-Identifier: Apache-2.0
// Device code on HIP-CPU, AMD's header-only HIP for processors: the threads of a block are fibers of one thread, and a
// shared variable is one of that thread. Its own __device__ and __global__ ask for a vectorised clone of every
// function, which adds nothing here but warnings.
#pragma once

#include <hip/hip_runtime.h>

#include "backends/common/dtype.h"

#define GPU_FN inline
#define GPU_DEVICE inline
#define GPU_KERNEL
#define GPU_SHARED static thread_local
#define GPU_CALL inline __attribute__((noinline))
#define GPU_CONSTANT

namespace gpu {

using Stream = hipStream_t;

GPU_DEVICE float HalfToFloat(uint16_t bits) {
  return plugin::ToFloat(plugin::F16{bits});
}
GPU_DEVICE uint16_t FloatToHalf(float value) {
  return plugin::Convert<plugin::F16>(value).bits;
}

// Without an instruction for it fma() is a slow function.
GPU_DEVICE float MultiplyAdd(float a, float b, float c) {
  return a * b + c;
}
GPU_DEVICE double MultiplyAdd(double a, double b, double c) {
  return a * b + c;
}

GPU_DEVICE void Sync() {
  __syncthreads();
}

template <class Params>
void Launch(void (*kernel)(Params), int64_t blocks, int threads, Stream stream, const Params& params) {
  hipLaunchKernelGGL(kernel, dim3(static_cast<uint32_t>(blocks)), dim3(static_cast<uint32_t>(threads)), 0, stream,
                     params);
}

}  // namespace gpu
