// SPDX-License-Identifier: Apache-2.0
// Device code where nvcc and hipcc take the same; either vendor's runtime header stands before it.
#pragma once

#include <cstdint>

#define GPU_FN __host__ __device__ inline
#define GPU_DEVICE __device__ inline
#define GPU_SHARED __shared__

namespace gpu {

GPU_DEVICE void Sync() {
  __syncthreads();
}

template <class Params, class StreamType>
void Launch(void (*kernel)(Params), int64_t blocks, int threads, StreamType stream, const Params& params) {
  kernel<<<dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)), 0, stream>>>(params);
}

}  // namespace gpu
