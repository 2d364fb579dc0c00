// SPDX-License-Identifier: Apache-2.0
// Device code on HIP-CPU, AMD's header-only HIP for processors: the threads of a block are fibers of one thread, and a
// shared variable is one of that thread. Its own __device__ and __global__ ask for a vectorised clone of every
// function, which adds nothing here but warnings.
#pragma once

#include <hip/hip_runtime.h>

#define GPU_FN inline
#define GPU_DEVICE inline
#define GPU_KERNEL
#define GPU_SHARED static thread_local
#define GPU_CALL inline __attribute__((noinline))
#define GPU_CONSTANT

#include "backends/gpu/device/vendor_processor.h"

namespace gpu {

using Stream = hipStream_t;

GPU_DEVICE void Sync() {
  __syncthreads();
}

template <class Params>
void Launch(void (*kernel)(Params), int64_t blocks, int threads, Stream stream, const Params& params) {
  hipLaunchKernelGGL(kernel, dim3(static_cast<uint32_t>(blocks)), dim3(static_cast<uint32_t>(threads)), 0, stream,
                     params);
}

}  // namespace gpu
